import { closeSync, fstatSync, lstatSync, openSync, readlinkSync, readSync, realpathSync } from 'node:fs';
import { parentPort } from 'node:worker_threads';
import { toFacts, type FileFacts } from './facts.ts';
import { toFilePath, toText } from './names.ts';
import { descriptorPath, isSame, openFlags, settleMsOf } from './reading.ts';

/** A request to the thread: facts about paths, or the files at them with their content. */
export type DiskQuestion = { id: number } & ({ look: PathList } | { read: PathList; maxBytes: number; nowMs: number });

/** Paths in text form, joined by U+0000, which no path holds: one text crosses to a thread faster than many. */
export type PathList = string;

export interface DiskAnswer {
  id: number;
  /** `factFields` numbers for each path, NaN where the thread has no answer. May end early. */
  facts: Float64Array<ArrayBuffer>;
  /** The bytes of the files that were read. */
  contents?: (Uint8Array<ArrayBuffer> | null)[];
}

export const factFields = 7;
export const factKinds: readonly FileFacts['kind'][] = ['file', 'folder', 'link', 'other'];

/** A disk that takes longer is left to those who ask many things of it at once. */
const graceMs = 20;
const lookMs = 0.1;
const readMs = 0.5;

parentPort?.on('message', (question: DiskQuestion) => {
  const answer = 'look' in question ? lookAll(question) : readAll(question);
  const buffers = (answer.contents ?? []).flatMap((content) => (content === null ? [] : [content.buffer]));
  parentPort?.postMessage(answer, [answer.facts.buffer, ...buffers]);
});
// Says that it is there: a question would wait until all this is loaded.
parentPort?.postMessage(null);

function lookAll({ id, look }: Extract<DiskQuestion, { look: PathList }>): DiskAnswer {
  const paths = look.split('\0');
  const facts = new Float64Array(paths.length * factFields).fill(NaN);
  const isFast = watchPace(lookMs);
  for (let index = 0; index < paths.length && isFast(index); index++) {
    const found = attempt(() => exactFacts(paths[index]!));
    if (found !== undefined) writeFacts(facts, index, found);
  }
  return { id, facts };
}

function readAll({ id, read, maxBytes, nowMs }: Extract<DiskQuestion, { read: PathList }>): DiskAnswer {
  const paths = read.split('\0');
  const facts = new Float64Array(paths.length * factFields).fill(NaN);
  const contents: DiskAnswer['contents'] = [];
  const isFast = watchPace(readMs);
  for (let index = 0; index < paths.length && isFast(index); index++) {
    const found = attempt(() => readSteady(paths[index]!, maxBytes, nowMs));
    contents.push(found?.bytes ?? null);
    if (found !== undefined) writeFacts(facts, index, found.facts);
  }
  return { id, facts, contents };
}

/**
 * Reads a file as `fetchFile` does when nothing is out of the ordinary: undefined for a link or what lies behind one, for what
 * is no file, empty, too large or just written, and for what changes meanwhile.
 */
function readSteady(path: string, maxBytes: number, nowMs: number) {
  if (toText(realpathSync.native(toFilePath(path), 'latin1')) !== path) return undefined;
  const expected = exactFacts(path);
  if (expected?.kind !== 'file' || expected.bytes === 0 || expected.bytes > maxBytes) return undefined;
  if (nowMs - expected.modifiedMs < settleMsOf(expected)) return undefined;
  const descriptor = openSync(toFilePath(path), openFlags);
  try {
    const bytes = readExpected(descriptor, expected);
    if (bytes === undefined || !standsAt(descriptor, path)) return undefined;
    const after = exactFacts(path);
    return after !== undefined && isSame(after, expected) ? { facts: expected, bytes } : undefined;
  } finally {
    closeSync(descriptor);
  }
}

function readExpected(descriptor: number, expected: FileFacts): Uint8Array<ArrayBuffer> | undefined {
  if (!isSame(toFacts(fstatSync(descriptor)), expected)) return undefined;
  const bytes = new Uint8Array(expected.bytes);
  let filled = 0;
  while (filled < bytes.length) {
    const count = readSync(descriptor, bytes, filled, bytes.length - filled, filled);
    if (count === 0) return undefined;
    filled += count;
  }
  return bytes;
}

function standsAt(descriptor: number, path: string): boolean {
  const real =
    process.platform === 'linux'
      ? readlinkSync(descriptorPath(descriptor), 'latin1')
      : realpathSync.native(toFilePath(path), 'latin1');
  return toText(real) === path;
}

/** Undefined where numbers are too large to be exact, which the slower way knows to handle. */
function exactFacts(path: string): FileFacts | undefined {
  const stats = lstatSync(toFilePath(path));
  return Number.isSafeInteger(stats.ino) ? toFacts(stats) : undefined;
}

/** Undefined on failure: the slower way tries again, and knows what each failure means. */
function attempt<Result>(run: () => Result): Result | undefined {
  try {
    return run();
  } catch {
    return undefined;
  }
}

/** Whether the disk has answered `count` questions fast enough to be asked the next in this way. */
function watchPace(perAnswerMs: number): (count: number) => boolean {
  const started = performance.now();
  return (count) => performance.now() - started < graceMs + count * perAnswerMs;
}

function writeFacts(facts: Float64Array, index: number, found: FileFacts): void {
  const numbers = [factKinds.indexOf(found.kind), found.bytes, found.modifiedMs, found.changedMs, found.bornMs];
  facts.set([...numbers, Number(found.device), Number(found.inode)], index * factFields);
}
