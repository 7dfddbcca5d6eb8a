import type { Command } from 'commander';
import type { ConnectionAnswer } from './client.ts';
import { chooseConnection, nameOf } from './connection-choice.ts';
import { printJson, printLine, type CommandContext } from './context.ts';
import { openClient } from './daemon-access.ts';
import { CommandFailure, exitCodes } from './exit.ts';
import { addDaemonOptions, addExamples, addJsonOption, type DaemonOptions, type JsonOption } from './options.ts';
import { counted } from './text.ts';

interface DisconnectOptions extends DaemonOptions, JsonOption {
  keepDocuments?: boolean;
  yes?: boolean;
}

export function addDisconnectCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('disconnect')
    .description('Stop mirroring a source and forget its documents. The source itself is not touched.')
    .argument('<id>', 'the connection: its id, the beginning of it, or the provider when it has only one')
    .option('--keep-documents', 'go on remembering what was mirrored')
    .option('--yes', 'without being asked');
  addDaemonOptions(addJsonOption(command));
  addExamples(command, [
    { command: 'memoryd disconnect nTPk', purpose: 'by the beginning of its id' },
    { command: 'memoryd disconnect folder --keep-documents', purpose: 'the only folder; its documents stay' },
    { command: 'memoryd disconnect nTPk --yes', purpose: 'for scripts' },
  ]);
  command.action(async (word: string, options: DisconnectOptions) => {
    const client = await openClient(options, context);
    const connection = chooseConnection(await client.connections(), word);
    if (!options.yes) await confirm(connection, options, context);
    const answer = await client.disconnect(connection.id, options.keepDocuments !== true);
    if (options.json) return printJson(context.stdout, answer);
    const documents = options.keepDocuments ? 'Its documents stay.' : 'Its documents are being deleted.';
    printLine(context.stdout, `Disconnected ${connection.provider} ${connection.id}. ${documents}`);
  });
}

/** Throws unless somebody at the terminal agrees: `usage` where nobody can be asked. */
async function confirm(
  connection: ConnectionAnswer,
  { keepDocuments }: DisconnectOptions,
  { ask }: CommandContext,
): Promise<void> {
  const documents = counted(connection.documentCount, 'document');
  const what = keepDocuments
    ? `${nameOf(connection)} is not mirrored any more; its ${documents} stay.`
    : `${nameOf(connection)} is not mirrored any more, and its ${documents} go, with what only they say.`;
  if (!ask) throw new CommandFailure(exitCodes.usage, what, { remedy: 'Add --yes to do it.' });
  const answer = await ask(`${what} The source is not touched. Disconnect? [y/N] `, { hidden: false });
  if (!/^y(es)?$/i.test(answer.trim())) throw new CommandFailure(exitCodes.failure, 'Nothing was changed.');
}
