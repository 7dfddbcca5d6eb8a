import type { Command } from 'commander';
import { stateOption } from './items.ts';
import { CommandFailure, exitCodes } from './exit.ts';
import { retriedStates } from '../connections/connection-types.ts';
import type { Client, FailedDocument } from './client.ts';
import type { ConnectionAnswer, ItemAnswer, ProgressAnswer, SyncRunAnswer } from './client-connections.ts';
import { chooseConnection, chooseConnections, nameOf } from './connection-choice.ts';
import { printJson, printLine, type CommandContext } from './context.ts';
import { openClient } from './daemon-access.ts';
import { addClientOptions, collect, type ClientOptions } from './options.ts';
import { counted, localTime, table } from './text.ts';

export function addFailuresCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('failures')
    .description('Show what could not be read or was skipped, and why.')
    .argument('[connection]', 'an id, the beginning of one, or a provider (default: everything)');
  addClientOptions(command, [
    { command: 'memoryd failures', purpose: 'of every connection and upload' },
    { command: 'memoryd failures nTPk --json', purpose: 'of one connection, for scripts' },
  ]);
  command.action(async (word: string | undefined, options: ClientOptions) => {
    const client = await openClient(options, context);
    const report = await collectFailures(client, word);
    if (options.json) printJson(context.stdout, report);
    else printReport(report, context);
  });
}

interface FailureReport {
  /** At most 100 for each connection that was named. */
  documents: FailedDocument[];
  /** How many failed documents there are. */
  totalDocuments: number;
  connections: FailuresOfConnection[];
}

interface FailuresOfConnection {
  id: string;
  name: string;
  items: ProgressAnswer['items'];
  /** Items that failed, the first 100. */
  failed: ItemAnswer[];
  /** Items that cannot be mirrored, the first 100; not those that its own filters leave out. */
  skipped: ItemAnswer[];
  /** The latest sync, when it ended early; else null. */
  run: SyncRunAnswer | null;
}

async function collectFailures(client: Client, word: string | undefined): Promise<FailureReport> {
  const all = await client.connections();
  const chosen = word === undefined ? all : chooseConnections(all, word);
  const scopes = word === undefined ? [undefined] : chosen.map(({ id }) => id);
  const pages = await Promise.all(scopes.map((connectionId) => client.failedDocuments(connectionId)));
  const ids = pages.flatMap((page) => page.memories.map(({ id }) => id));
  return {
    documents: await readAll(client, ids),
    totalDocuments: pages.reduce((sum, { pagination }) => sum + pagination.totalItems, 0),
    connections: await Promise.all(chosen.map((connection) => ofConnection(client, connection))),
  };
}

const readAtOnce = 8;

/** The errors stand only in the documents themselves. */
async function readAll(client: Client, ids: readonly string[]): Promise<FailedDocument[]> {
  const documents: FailedDocument[] = [];
  for (let start = 0; start < ids.length; start += readAtOnce) {
    const some = ids.slice(start, start + readAtOnce);
    documents.push(...(await Promise.all(some.map((id) => client.failedDocument(id)))));
  }
  return documents;
}

const shownItems = 100;
/** Classes of items that cannot be mirrored. Others are left out because the connection says so. */
const skipClasses = ['too_large', 'unsupported_type', 'binary', 'encrypted', 'empty', 'no_access', 'left_out', 'other'];

async function ofConnection(client: Client, connection: ConnectionAnswer): Promise<FailuresOfConnection> {
  const { id } = connection;
  const { items, run } = await client.progress(id);
  const list = async (count: number, states: string[], errorClasses: string[]) =>
    count === 0 ? [] : (await client.items(id, { states, errorClasses }, { limit: shownItems })).items;
  return {
    id,
    name: nameOf(connection),
    items,
    failed: await list(items.failed, ['failed', 'dead'], []),
    skipped: await list(items.skipped, ['skipped'], skipClasses),
    run: run?.status === 'failed' ? run : null,
  };
}

function printReport(report: FailureReport, context: CommandContext): void {
  const { documents, totalDocuments, connections } = report;
  const shown = new Set(documents.map(({ id }) => id));
  const rows = [...documents.map(documentRow), ...connections.flatMap((one) => connectionRows(one, shown))];
  if (rows.length === 0) printLine(context.stderr, 'Nothing failed.');
  // A reason that is cut would be of no use, so lines may be longer than the terminal.
  else for (const line of table(['WHAT', 'CODE', 'NEXT TRY', 'WHY'], rows, Infinity)) printLine(context.stdout, line);
  const more = totalDocuments - documents.length;
  if (more > 0) printLine(context.stderr, `\n${counted(more, 'more failed document')}.`);
  if (rows.some(([, , nextTry]) => nextTry === '-')) {
    printLine(context.stderr, '\nWhat has no next try is read again when it changes, or by `memoryd retry`.');
  }
  for (const connection of connections) for (const line of moreItems(connection)) printLine(context.stderr, line);
}

function documentRow({ id, filepath, title, customId, error }: FailedDocument): string[] {
  const name = filepath ?? title ?? customId ?? id;
  return [name, error?.code ?? '-', localTime(error?.nextRetryAt), error?.message ?? '-'];
}

/** A sync that ended early, and items; but not those whose documents are shown. */
function connectionRows({ run, failed, skipped }: FailuresOfConnection, shown: ReadonlySet<string>): string[][] {
  const isShown = ({ documentId }: ItemAnswer) => documentId !== null && shown.has(documentId);
  return [
    ...(run ? [[`sync of ${localTime(run.startedAt)}`, run.errorCode ?? '-', '-', run.error ?? '-']] : []),
    ...[...failed, ...skipped]
      .filter((item) => !isShown(item))
      .map((item) => [
        item.path ?? item.title ?? item.id,
        item.errorClass ?? item.state,
        localTime(item.nextRetryAt),
        item.error ?? '-',
      ]),
  ];
}

/** A line about items that the table leaves out. */
function moreItems({ id, name, items, failed, skipped }: FailuresOfConnection): string[] {
  const line = (count: number, what: string, states: string) =>
    count > 0 ? [`${name}: ${counted(count, 'more item')} ${what}; \`memoryd items ${id} ${states}\` lists them.`] : [];
  return [
    ...line(items.failed - failed.length, 'failed', '--state failed,dead'),
    ...line(items.skipped - skipped.length, 'skipped', '--state skipped'),
  ];
}

interface RetryOptions extends ClientOptions {
  state?: string[];
  class?: string[];
}

export function addRetryCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('retry')
    .description('Read items again now: those that failed, or the ones that are named.')
    .argument('<connection>', 'its id, the beginning of it, or the provider when it has only one')
    .argument('[items...]', 'ids of items, as `memoryd items --json` shows them')
    .addOption(stateOption('items in this state; may be repeated (default: failed and dead)', retriedStates))
    .option('--class <class>', 'only items with this class of error; may be repeated', collect);
  addClientOptions(command, [
    { command: 'memoryd retry nTPk', purpose: 'everything that failed' },
    { command: 'memoryd retry nTPk --state skipped', purpose: 'what was skipped, e.g. after a change of limits' },
    { command: 'memoryd retry nTPk notes/plan.md', purpose: 'one item, whatever its state' },
  ]);
  command.action(async (word: string, items: string[], options: RetryOptions) => {
    if (items.length > 0 && (options.state || options.class)) {
      throw new CommandFailure(exitCodes.usage, 'Name items, or say which ones by --state and --class, not both.');
    }
    const client = await openClient(options, context);
    const connection = chooseConnection(await client.connections(), word);
    const selection = { states: options.state ?? [], errorClasses: options.class ?? [] };
    const answer =
      items.length === 0
        ? await client.retryItems(connection.id, selection)
        : { retried: (await Promise.all(items.map((item) => client.retryItem(connection.id, item)))).length };
    if (options.json) return printJson(context.stdout, answer);
    const when = connection.status === 'active' ? 'now' : `when it is resumed (it is ${connection.status})`;
    const what =
      answer.retried === 0 ? 'nothing to read again' : `${counted(answer.retried, 'item')} read again ${when}`;
    printLine(context.stdout, `${nameOf(connection)}: ${what}.`);
  });
}
