import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';

/** What one request pushes: entries with the numbers of their lines. */
export interface PushBatch {
  upserts: unknown[];
  upsertLines: number[];
  deletes: string[];
  deleteLines: number[];
  isLast: boolean;
}

export interface PushFileOptions {
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
export async function* readPushFile(path: string, options: PushFileOptions): AsyncGenerator<PushBatch> {
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
