import type { Command } from 'commander';
import { connectionStates, connectionTable } from './connection-table.ts';
import { printJson, printLine, roomOf, type CommandContext } from './context.ts';
import { openClient } from './daemon-access.ts';
import { addDaemonOptions, addExamples, addJsonOption, type DaemonOptions, type JsonOption } from './options.ts';

export function addConnectionsCommand(program: Command, context: CommandContext): void {
  const command = program.command('connections').description('List what is mirrored, and what needs attention.');
  addDaemonOptions(addJsonOption(command));
  addExamples(command, [
    { command: 'memoryd connections', purpose: 'a table' },
    { command: 'memoryd connections --json | jq -r .[].id', purpose: 'for scripts' },
  ]);
  command.action(async (options: DaemonOptions & JsonOption) => {
    const client = await openClient(options, context);
    const connections = await client.connections();
    if (options.json) return printJson(context.stdout, connections);
    if (connections.length === 0) {
      printLine(context.stderr, 'Nothing is connected. `memoryd connect folder ./notes` mirrors a folder.');
      return;
    }
    const states = await connectionStates(client, connections);
    for (const line of connectionTable(states, roomOf(context.stdout))) printLine(context.stdout, line);
  });
}
