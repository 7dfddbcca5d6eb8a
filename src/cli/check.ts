import type { Command } from 'commander';
import type { CheckAnswer, ConnectionAnswer } from './client-connections.ts';
import { chooseConnections, nameOf } from './connection-choice.ts';
import { paint, printJson, printLine, type CommandContext, type Screen } from './context.ts';
import { openClient } from './daemon-access.ts';
import { CommandFailure, exitCodes } from './exit.ts';
import { addClientOptions, type ClientOptions } from './options.ts';
import { counted } from './text.ts';

export function addCheckCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('check')
    .description('Ask the sources whether the connections work.')
    .argument('[connection]', 'an id, the beginning of one, or a provider (default: all)');
  addClientOptions(command, [
    { command: 'memoryd check', purpose: 'every connection' },
    { command: 'memoryd check nTPk --json', purpose: 'one of them, for scripts' },
  ]);
  command.action(async (word: string | undefined, options: ClientOptions) => {
    const client = await openClient(options, context);
    const all = await client.connections();
    const chosen = word === undefined ? all : chooseConnections(all, word);
    if (chosen.length === 0) printLine(context.stderr, 'Nothing is connected.');
    const results = await Promise.all(
      chosen.map(async (connection) => ({ connection, answer: await client.check(connection.id) })),
    );
    if (options.json) {
      printJson(
        context.stdout,
        results.map(({ connection, answer }) => ({ connectionId: connection.id, ...answer })),
      );
    } else for (const result of results) printResult(result, context.stdout);
    const failed = results.filter(({ answer }) => !answer.ok).length;
    if (failed > 0) throw new CommandFailure(exitCodes.failure, `${counted(failed, 'connection')} does not work.`);
  });
}

const marks = { ok: 'green', failed: 'red', unknown: 'yellow' } as const;

function printResult(
  { connection, answer }: { connection: ConnectionAnswer; answer: CheckAnswer },
  screen: Screen,
): void {
  printLine(screen, `${nameOf(connection)}: ${answer.ok ? 'works' : 'does not work'}`);
  for (const { status, title, detail, remedy } of answer.checks) {
    printLine(screen, `  ${paint(screen, marks[status], status.padEnd(8))}${title}${detail ? `: ${detail}` : ''}`);
    if (remedy && status !== 'ok') printLine(screen, `          ${remedy}`);
  }
}
