import { randomUUID } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Command } from 'commander';
import type { PushAnswer, PushCounts } from '../inbound/push/push-service.ts';
import type { Client } from './client.ts';
import type { PushBody } from './client-connections.ts';
import { withPatience } from './client-request.ts';
import { chooseConnection, nameOf } from './connection-choice.ts';
import { printJson, printLine, type CommandContext } from './context.ts';
import { openClient } from './daemon-access.ts';
import { CommandFailure, exitCodes } from './exit.ts';
import { addClientOptions, wholeNumber, type ClientOptions } from './options.ts';
import { createStatusLine, type StatusLine } from './status-line.ts';
import { counted, oneLine } from './text.ts';

interface PushOptions extends ClientOptions {
  snapshot?: boolean;
  batch: number;
  resume?: string;
}

const maxBatchBytes = 8 * 1024 * 1024;
const shownFailures = 20;

export function addPushCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('push')
    .description('Push the items of a file into a connection of the provider push.')
    .argument('<connection>', 'an id, the beginning of one, or the provider')
    .argument('<file>', 'JSON lines: {"id": …, "text": …} for an item, {"id": …, "deleted": true} for one that is gone')
    .option('--snapshot', 'the file holds everything there is: remove what is not in it')
    .option('--batch <count>', 'items in one request', wholeNumber(1, 1_000), 200)
    .option('--resume <id>', 'go on with a push that was interrupted')
    .addHelpText('after', itemHelp);
  addClientOptions(command, [
    { command: 'memoryd push push changes.jsonl', purpose: 'what is new, changed or gone' },
    { command: 'memoryd push push everything.jsonl --snapshot', purpose: 'all there is' },
  ]);
  command.action((word: string, file: string, options: PushOptions) => push(word, file, options, context));
}

const itemHelp = `
The connection is made once, with "memoryd connect push".
Fields of an item: id, rev, title, text or markdown or html, url, path, metadata, updatedAt.
An item whose rev is known already costs next to nothing.`;

interface Progress {
  counts: PushCounts;
  failures: { line: number; id: string | null; error: string }[];
  snapshot: PushAnswer['snapshot'];
}

async function push(word: string, file: string, options: PushOptions, context: CommandContext): Promise<void> {
  const path = resolve(context.cwd, file);
  // A pipe such as /dev/stdin is as good as a file.
  const found = await stat(path).catch(() => null);
  if (!found || found.isDirectory()) {
    throw new CommandFailure(exitCodes.usage, `There is no file ${path}.`);
  }
  const client = await openClient(options, context);
  const connection = chooseConnection(await client.connections(), word);
  const id = options.resume ?? randomUUID();
  const progress: Progress = { counts: noCounts(), failures: [], snapshot: null };
  const line = createStatusLine(context.stderr);
  const sending = { client, connectionId: connection.id, path, id, options, progress, line, context };
  try {
    await sendAll(sending);
  } catch (error) {
    line.clear();
    printLine(context.stderr, `Stopped. To go on with it, say: --resume ${id}`);
    throw error;
  }
  line.clear();
  report(nameOf(connection), sending);
}

interface Sending {
  client: Client;
  connectionId: string;
  path: string;
  /** Names this push, so that it can be gone on with. */
  id: string;
  options: PushOptions;
  progress: Progress;
  line: StatusLine;
  context: CommandContext;
}

async function sendAll(sending: Sending): Promise<void> {
  const { path, options, progress, line } = sending;
  const firstPage = await nextPage(sending);
  const batches = readPushFile(path, {
    maxEntries: options.batch,
    maxBytes: maxBatchBytes,
    unreadable(number, problem) {
      // What stands in the line may be an item, which would be missing from the snapshot.
      if (options.snapshot) throw unreadableLine(number, problem);
      progress.failures.push({ line: number, id: null, error: problem });
    },
  });
  let page = 0;
  for await (const batch of batches) {
    page += 1;
    if (page < firstPage) continue;
    const answer = await withPatience(sending.context, () =>
      sending.client.push(sending.connectionId, bodyOf(sending, batch, page)),
    );
    note(progress, batch, answer);
    if (line.live) line.show(`${summary(progress.counts)} …`);
  }
}

/** The page with which a snapshot goes on. Other pushes are repeated, and what was taken does nothing. */
async function nextPage({ client, connectionId, id, options }: Sending): Promise<number> {
  if (options.resume === undefined || !options.snapshot) return 1;
  const { snapshot } = await client.pushState(connectionId);
  if (snapshot?.id === id && snapshot.state === 'open') return snapshot.nextPage;
  const why = snapshot?.id === id ? `is ${snapshot.state}` : 'is not the last one that was begun';
  throw new CommandFailure(exitCodes.failure, `The snapshot ${id} ${why}.`, { remedy: 'Push without --resume.' });
}

function bodyOf({ id, options }: Sending, batch: PushBatch, page: number): PushBody {
  return {
    deliveryId: `${id}:${page}`,
    upserts: batch.upserts,
    deletes: batch.deletes,
    ...(options.snapshot && { snapshot: { id, page }, completeSnapshot: batch.isLast }),
  };
}

function note(progress: Progress, batch: PushBatch, answer: PushAnswer): void {
  for (const name of Object.keys(progress.counts) as (keyof PushCounts)[]) progress.counts[name] += answer.counts[name];
  progress.snapshot = answer.snapshot;
  // A repeated answer lists failures only, without their places.
  const lineOf = (lines: readonly number[], index: number) => (answer.replayed ? 0 : (lines[index] ?? 0));
  for (const [index, { id, status, error }] of answer.upserts.entries()) {
    if (status === 'failed') progress.failures.push({ line: lineOf(batch.upsertLines, index), id, error: error ?? '' });
  }
  for (const [index, { id, status, error }] of answer.deletes.entries()) {
    if (status === 'failed') progress.failures.push({ line: lineOf(batch.deleteLines, index), id, error: error ?? '' });
  }
}

function report(name: string, { connectionId, progress, options, context: { stderr, stdout } }: Sending): void {
  const { counts, failures, snapshot } = progress;
  if (options.json) printJson(stdout, { connectionId, counts, snapshot, failures });
  printLine(stderr, `${name}: ${summary(counts)}.`);
  if (snapshot?.held) {
    const { count, of } = snapshot.held;
    printLine(stderr, `${counted(count, 'item')} of ${of} would be removed, which is held back as too much at once.`);
    printLine(stderr, `To let it happen: memoryd sync ${connectionId} --confirm-deletes`);
  }
  if (snapshot?.incomplete) printLine(stderr, `Nothing was removed: ${snapshot.incomplete}`);
  for (const { line, id, error } of failures.slice(0, shownFailures)) {
    const place = line === 0 ? '' : `line ${line}: `;
    printLine(stderr, oneLine(`${place}${id === null ? '' : `${id}: `}${error}`));
  }
  if (failures.length > shownFailures) printLine(stderr, `… and ${failures.length - shownFailures} more.`);
  if (failures.length > 0) {
    throw new CommandFailure(exitCodes.failure, `${counted(failures.length, 'line')} could not be taken.`);
  }
}

function summary({ created, updated, unchanged, skipped, deleted }: PushCounts): string {
  const parts = [`${created} new`, `${updated} changed`, `${unchanged} unchanged`, `${deleted} removed`];
  return (skipped > 0 ? [...parts, `${skipped} left out`] : parts).join(', ');
}

function noCounts(): PushCounts {
  return { created: 0, updated: 0, unchanged: 0, skipped: 0, deleted: 0, failed: 0 };
}

function unreadableLine(line: number, problem: string): CommandFailure {
  return new CommandFailure(exitCodes.failure, `Line ${line} cannot be read: ${problem}.`, {
    remedy: 'Nothing was removed. Mend the line and push the snapshot again.',
  });
}

/** The entries of one push request, with their line numbers. */
interface PushBatch {
  upserts: unknown[];
  upsertLines: number[];
  deletes: string[];
  deleteLines: number[];
  isLast: boolean;
}

interface PushFileOptions {
  /** Most entries of a batch. */
  maxEntries: number;
  /** Most bytes of a batch, of JSON; a larger line is a batch of its own. */
  maxBytes: number;
  /** Called for a line that cannot be read. */
  unreadable(line: number, problem: string): void;
}

/**
 * The lines of a file as batches, one held in memory at a time. A line is an item `{"id", …}`, or
 * `{"id", "deleted": true}`; empty lines count for nothing. There is always a last batch, which may be empty.
 */
async function* readPushFile(path: string, options: PushFileOptions): AsyncGenerator<PushBatch> {
  let batch = emptyBatch();
  let bytes = 0;
  for await (const { number, text } of linesOf(path)) {
    const entry = readLine(text);
    if (typeof entry === 'string') {
      options.unreadable(number, entry);
      continue;
    }
    const size = Buffer.byteLength(text);
    const entries = batch.upserts.length + batch.deletes.length;
    if (entries > 0 && (entries >= options.maxEntries || bytes + size > options.maxBytes)) {
      yield batch;
      batch = emptyBatch();
      bytes = 0;
    }
    addEntry(batch, entry, number);
    bytes += size;
  }
  yield { ...batch, isLast: true };
}

function emptyBatch(): PushBatch {
  return { upserts: [], upsertLines: [], deletes: [], deleteLines: [], isLast: false };
}

async function* linesOf(path: string): AsyncGenerator<{ number: number; text: string }> {
  const input = createReadStream(path, { encoding: 'utf8' });
  // Errors of the stream would otherwise be lost between the two.
  const { promise: failed, reject } = Promise.withResolvers<never>();
  input.once('error', reject);
  failed.catch(() => {});
  const lines = createInterface({ input, crlfDelay: Infinity })[Symbol.asyncIterator]();
  for (let number = 1; ; number++) {
    const next = await Promise.race([lines.next(), failed]);
    if (next.done) return;
    const text = number === 1 ? next.value.replace(/^\ufeff/, '') : next.value;
    if (text.trim() !== '') yield { number, text };
  }
}

interface Entry extends Record<string, unknown> {
  id?: unknown;
  deleted?: unknown;
}

/** The entry of a line; a text says why it is none. */
function readLine(text: string): Entry | string {
  try {
    const value: unknown = JSON.parse(text);
    const isEntry = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isEntry ? (value as Entry) : 'it is no JSON object';
  } catch {
    return 'it is not JSON';
  }
}

function addEntry(batch: PushBatch, entry: Entry, line: number): void {
  if (entry.deleted === true && typeof entry.id === 'string') {
    batch.deletes.push(entry.id);
    batch.deleteLines.push(line);
    return;
  }
  batch.upserts.push(entry);
  batch.upsertLines.push(line);
}
