import type { Command } from 'commander';
import { CommandFailure, exitCodes } from './exit.ts';
import { problemNote } from '../base/checks.ts';
import type { Client } from './client.ts';
import type { ConnectionAnswer, ProgressAnswer } from './client-connections.ts';
import { chooseConnection, nameOf, targetOf } from './connection-choice.ts';
import { connectionStates, connectionTable } from './connection-table.ts';
import { printJson, printLine, roomOf, type CommandContext } from './context.ts';
import { openClient } from './daemon-access.ts';
import { addClientOptions, addExamples, type ClientOptions } from './options.ts';
import { heldNote } from './progress.ts';
import { counted, localTime } from './text.ts';

export function addConnectionsCommand(program: Command, context: CommandContext): void {
  const connections = program.command('connections').description('Show what is mirrored, and what needs attention.');
  addExamples(connections, [
    { command: 'memoryd connections list', purpose: 'a table of all; `list` may be left out' },
    { command: 'memoryd connections show nTPk', purpose: 'everything about one' },
  ]);
  addList(connections, context);
  addShow(connections, context);
}

function addList(connections: Command, context: CommandContext): void {
  const command = connections.command('list', { isDefault: true }).description('List the connections.');
  addClientOptions(command, [
    { command: 'memoryd connections list', purpose: 'a table' },
    { command: 'memoryd connections list --json | jq -r .[].id', purpose: 'for scripts' },
  ]);
  command.action(async (options: ClientOptions) => {
    const client = await openClient(options, context);
    const found = await client.connections();
    if (options.json) return printJson(context.stdout, found);
    if (found.length === 0) {
      printLine(context.stderr, 'Nothing is connected. `memoryd connect folder ./notes` mirrors a folder.');
      return;
    }
    const states = await connectionStates(client, found);
    for (const line of connectionTable(states, roomOf(context.stdout))) printLine(context.stdout, line);
  });
}

function addShow(connections: Command, context: CommandContext): void {
  const command = connections
    .command('show')
    .description('Show everything about one connection.')
    .argument('<id>', 'its id, the beginning of it, or the provider when it has only one');
  addClientOptions(command, [{ command: 'memoryd connections show nTPk', purpose: 'by the beginning of its id' }]);
  command.action(async (word: string, options: ClientOptions) => {
    const client: Client = await openClient(options, context);
    const connection = chooseConnection(await client.connections(), word);
    const progress = await client.progress(connection.id);
    if (options.json) return printJson(context.stdout, { ...connection, progress });
    for (const line of details(connection, progress)) printLine(context.stdout, line);
  });
}

function details(connection: ConnectionAnswer, progress: ProgressAnswer): string[] {
  const label = (text: string) => text.padEnd(12);
  const { items, documents, heldDeletes, problems } = progress;
  const { status, statusReason, schedule, allowedHours, lastSyncRun, documentLimit } = connection;
  const asJson = (name: string, value: object | undefined) =>
    value === undefined || Object.keys(value).length === 0 ? [] : [`${label(name)}${JSON.stringify(value)}`];
  return [
    `${label('id')}${connection.id}`,
    `${label('source')}${connection.provider}, ${targetOf(connection)}`,
    `${label('namespace')}${connection.containerTag}`,
    `${label('state')}${status}${statusReason ? `: ${statusReason}` : ''}`,
    `${label('schedule')}${schedule ?? 'only on request'}${allowedHours ? `, within ${allowedHours}` : ''}`,
    `${label('next sync')}${localTime(connection.nextSyncAt)}`,
    `${label('last sync')}${lastSyncRun ? `${lastSyncRun.status} ${localTime(lastSyncRun.completedAt)}` : '-'}`,
    `${label('items')}${items.done} done, ${items.pending} waiting, ${items.failed} failed, ${items.skipped} skipped`,
    `${label('documents')}${documents.done} done, ${documents.waiting} waiting, ${documents.failed} failed`,
    ...(documentLimit === undefined ? [] : [`${label('limit')}${counted(documentLimit, 'document')}`]),
    ...asJson('filters', connection.filters),
    ...asJson(
      'selection',
      connection.selection?.map(({ name, id }) => name ?? id),
    ),
    ...asJson('metadata', connection.metadata ?? undefined),
    ...(problems ?? []).map((problem) => `${label('problem')}${problemNote(problem)}`),
    ...(heldDeletes > 0 ? [`${label('held')}${heldNote(heldDeletes, connection.id)}`] : []),
  ];
}

interface DisconnectOptions extends ClientOptions {
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
  addClientOptions(command, [
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

const verbs = {
  pause: { paused: true, description: 'Stop syncing a connection; its documents stay searchable.', done: 'Paused' },
  resume: { paused: false, description: 'Sync a paused connection again.', done: 'Resumed' },
} as const;

export function addPauseCommand(program: Command, context: CommandContext): void {
  addVerb('pause', program, context);
}

export function addResumeCommand(program: Command, context: CommandContext): void {
  addVerb('resume', program, context);
}

function addVerb(name: keyof typeof verbs, program: Command, context: CommandContext): void {
  const { paused, description, done } = verbs[name];
  const command = program
    .command(name)
    .description(description)
    .argument('<id>', 'the connection: its id, the beginning of it, or the provider when it has only one');
  addClientOptions(command, [{ command: `memoryd ${name} nTPk`, purpose: 'by the beginning of its id' }]);
  command.action(async (word: string, options: ClientOptions) => {
    const client = await openClient(options, context);
    const { id } = chooseConnection(await client.connections(), word);
    const connection = await client.setPaused(id, paused);
    if (options.json) return printJson(context.stdout, connection);
    printLine(context.stdout, `${done} ${connection.provider} ${connection.id}.`);
  });
}

export function addCancelCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('cancel')
    .description(
      'End the sync of a connection that runs now. What it has stored stays; the next one goes on from there.',
    )
    .argument('<id>', 'the connection: its id, the beginning of it, or the provider when it has only one');
  addClientOptions(command, [{ command: 'memoryd cancel nTPk', purpose: 'by the beginning of its id' }]);
  command.action(async (word: string, options: ClientOptions) => {
    const client = await openClient(options, context);
    const connection = chooseConnection(await client.connections(), word);
    const run = await client.cancel(connection.id);
    if (options.json) return printJson(context.stdout, run);
    printLine(context.stdout, `Cancelled the sync ${run.id} of ${connection.provider} ${connection.id}.`);
  });
}
