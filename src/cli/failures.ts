import type { Command } from 'commander';
import type { Client, ConnectionAnswer, FailedDocument, ProgressAnswer, SyncRunFailures } from './client.ts';
import { chooseConnections, nameOf } from './connection-choice.ts';
import { printJson, printLine, type CommandContext } from './context.ts';
import { openClient } from './daemon-access.ts';
import { addDaemonOptions, addExamples, addJsonOption, type DaemonOptions, type JsonOption } from './options.ts';
import { counted, localTime, table } from './text.ts';

export function addFailuresCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('failures')
    .description('Show what could not be read, and why: documents, and items of the latest syncs.')
    .argument('[connection]', 'an id, the beginning of one, or a provider (default: everything)');
  addDaemonOptions(addJsonOption(command));
  addExamples(command, [
    { command: 'memoryd failures', purpose: 'of every connection and upload' },
    { command: 'memoryd failures nTPk --json', purpose: 'of one connection, for scripts' },
  ]);
  command.action(async (word: string | undefined, options: DaemonOptions & JsonOption) => {
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
  connections: {
    id: string;
    name: string;
    items: ProgressAnswer['items'];
    /** The latest sync with failures; null when no item is failed or waits. */
    run: SyncRunFailures | null;
  }[];
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

async function ofConnection(client: Client, connection: ConnectionAnswer): Promise<FailureReport['connections'][0]> {
  const { id } = connection;
  const { items } = await client.progress(id);
  const runs = items.failed + items.pending > 0 ? await client.syncRuns(id) : [];
  const run = runs.find(({ failures, error }) => failures.length > 0 || error !== null) ?? null;
  return { id, name: nameOf(connection), items, run };
}

function printReport(report: FailureReport, context: CommandContext): void {
  const { documents, totalDocuments, connections } = report;
  const rows = [...documents.map(documentRow), ...connections.flatMap(({ run }) => (run ? runRows(run) : []))];
  if (rows.length === 0) printLine(context.stderr, 'Nothing failed.');
  // A reason that is cut would be of no use, so lines may be longer than the terminal.
  else for (const line of table(['WHAT', 'CODE', 'NEXT TRY', 'WHY'], rows, Infinity)) printLine(context.stdout, line);
  const more = totalDocuments - documents.length;
  if (more > 0) printLine(context.stderr, `\n${counted(more, 'more failed document')}.`);
  if (documents.some(({ error }) => !error?.nextRetryAt)) {
    printLine(context.stderr, '\nWhat has no next try is read again when it changes.');
  }
  for (const { name, items } of connections) {
    if (items.skipped === 0) continue;
    printLine(context.stderr, `${name}: ${counted(items.skipped, 'item')} skipped as empty, too large or no text.`);
  }
}

function documentRow({ id, filepath, title, customId, error }: FailedDocument): string[] {
  const name = filepath ?? title ?? customId ?? id;
  return [name, error?.code ?? '-', localTime(error?.nextRetryAt), error?.message ?? '-'];
}

/** Items that never became documents, and a sync that ended early. */
function runRows({ failures, error, errorCode, startedAt }: SyncRunFailures): string[][] {
  return [
    ...(error === null ? [] : [[`sync of ${localTime(startedAt)}`, errorCode ?? '-', '-', error]]),
    ...failures.map((failure) => [failure.title ?? failure.customId, '-', 'by itself', failure.error]),
  ];
}
