import type { Command } from 'commander';
import type { ConnectionAnswer } from './client.ts';
import { targetOf } from './connection-choice.ts';
import { printJson, printLine, roomOf, type CommandContext } from './context.ts';
import { openClient } from './daemon-access.ts';
import { addDaemonOptions, addExamples, addJsonOption, type DaemonOptions, type JsonOption } from './options.ts';
import { localTime, table } from './text.ts';

export function addConnectionsCommand(program: Command, context: CommandContext): void {
  const command = program.command('connections').description('List what is mirrored.');
  addDaemonOptions(addJsonOption(command));
  addExamples(command, [
    { command: 'memoryd connections', purpose: 'a table' },
    { command: 'memoryd connections --json | jq -r .[].id', purpose: 'for scripts' },
  ]);
  command.action(async (options: DaemonOptions & JsonOption) => {
    const connections = await (await openClient(options, context)).connections();
    if (options.json) return printJson(context.stdout, connections);
    if (connections.length === 0) {
      printLine(context.stderr, 'Nothing is connected. `memoryd connect folder ./notes` mirrors a folder.');
      return;
    }
    for (const line of connectionTable(connections, roomOf(context.stdout))) printLine(context.stdout, line);
  });
}

/** One row per connection; those that need a person say why below. */
export function connectionTable(connections: readonly ConnectionAnswer[], columns: number): string[] {
  const rows = connections.map((connection) => [
    connection.id,
    connection.provider,
    connection.containerTag,
    stateOf(connection),
    String(connection.documentCount),
    localTime(connection.lastSyncRun?.completedAt),
    targetOf(connection),
  ]);
  const reasons = connections
    .filter(({ status, statusReason }) => status !== 'active' && statusReason)
    .map(({ id, statusReason }) => [id, statusReason!]);
  return [
    ...table(['ID', 'PROVIDER', 'TAG', 'STATE', 'DOCUMENTS', 'LAST SYNC', 'TARGET'], rows, columns),
    ...(reasons.length > 0 ? ['', ...table(['ID', 'REASON'], reasons, columns)] : []),
  ];
}

function stateOf(connection: ConnectionAnswer): string {
  const run = connection.lastSyncRun?.status;
  if (connection.status !== 'active') return connection.status;
  return run === 'running' ? 'syncing' : run === 'failed' ? 'sync failed' : 'active';
}
