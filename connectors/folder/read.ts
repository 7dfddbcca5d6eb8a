import { open, readlink, type FileHandle } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { transient, type Context, type Fetched, type Partition, type Ref } from 'memoryd/connector';
import { defaultMaxItemBytes, type FolderConfig } from './config.ts';
import { readFacts, toFacts, type FileFacts } from './facts.ts';
import { faultCode, isAbsent, toConnectorError } from './faults.ts';
import { resolveListed } from './links.ts';
import { toDocument } from './map.ts';
import { joinPath, relativePath, toFilePath, toText } from './names.ts';
import { descriptorPath, isSame, openFlags, settleMsOf, tickMsOf } from './reading.ts';
import { assertMounted } from './root.ts';
import { createRules, type Rules } from './rules.ts';

/** Reads of one file that changes meanwhile, the first included, before it is left for later. */
const attempts = 8;
/** So many of them wait until the file is whole. One that is never quiet, as a log, is read between two writes then. */
const quietAttempts = 4;

interface Reading {
  root: string;
  /** From the root. */
  path: string;
  rules: Rules;
  followLinks: boolean;
  maxBytes: number;
  /** Milliseconds since the epoch. */
  now(): number;
  signal: AbortSignal;
}

/** The content of one file as it stands now, with the revision that was really read. */
export async function fetchFile(ctx: Context<FolderConfig>, partition: Partition, ref: Ref): Promise<Fetched> {
  const root = partition.id;
  const path = relativePath(root, ref.id);
  try {
    const rules = createRules(root, ctx);
    if (!path || !(await rules.allowsFile(path))) return { skip: 'filtered' };
    return await readSettled({
      root,
      path,
      rules,
      followLinks: ctx.config.followSymlinks === true,
      maxBytes: ctx.config.maxItemBytes ?? defaultMaxItemBytes,
      now: () => ctx.now().getTime(),
      signal: ctx.signal,
    });
  } catch (error) {
    if (!isNoFile(error)) throw toConnectorError(error, ref.id);
    return confirmGone(root);
  }
}

async function readSettled(reading: Reading): Promise<Fetched> {
  for (let attempt = 1; attempt <= attempts; attempt++) {
    reading.signal.throwIfAborted();
    const fetched = await readOnce(reading, attempt <= quietAttempts ? settleMsOf : tickMsOf);
    if (fetched !== 'changed') return fetched;
  }
  throw transient(`${joinPath(reading.root, reading.path)} kept changing while it was read.`);
}

async function readOnce(reading: Reading, waitMsOf: (facts: FileFacts) => number): Promise<Fetched | 'changed'> {
  const listed = await resolveListed(reading, reading.path);
  // Looked at before it is opened: opening a device can set it to work.
  const expected = listed === undefined ? undefined : await readFacts(listed);
  if (listed === undefined || expected?.kind !== 'file') return confirmGone(reading.root);
  if (expected.bytes > reading.maxBytes) return tooLarge(expected.bytes, reading.maxBytes);
  if (expected.bytes === 0) return { skip: 'empty', detail: 'The file is empty.' };
  await standsStill(expected, reading, waitMsOf(expected));
  const file = await open(toFilePath(listed), openFlags);
  try {
    const bytes = await readExpected(file, expected);
    const isInPlace = bytes !== undefined && (await standsAt(file, listed, expected, reading));
    return isInPlace ? toDocument(reading.root, reading.path, expected, bytes) : 'changed';
  } finally {
    await file.close();
  }
}

async function confirmGone(root: string): Promise<{ gone: true }> {
  await assertMounted(root);
  return { gone: true };
}

function tooLarge(bytes: number, maxBytes: number): Fetched {
  return { skip: 'too_large', detail: `It has ${bytes} bytes; at most ${maxBytes} are read (maxItemBytes).` };
}

/**
 * Waits until so long has passed since the last write. With less than a tick of the file system's clock, two writes
 * within it, one before and one after reading, would leave the same revision; with a little more, what is read is
 * seldom half of what a program is about to write.
 */
async function standsStill(facts: FileFacts, reading: Reading, waitMs: number): Promise<void> {
  const ageMs = reading.now() - facts.modifiedMs;
  // Clocks tell whole milliseconds, file systems finer ones: what was just written may seem to come from the future.
  if (Math.abs(ageMs) < waitMs) await sleep(waitMs - ageMs, undefined, { signal: reading.signal });
}

/** Reads the expected number of bytes; undefined when it is another file or has become shorter. */
async function readExpected(file: FileHandle, expected: FileFacts): Promise<Uint8Array | undefined> {
  if (!isSame(toFacts(await file.stat()), expected)) return undefined;
  const bytes = new Uint8Array(expected.bytes);
  let filled = 0;
  while (filled < bytes.length) {
    const { bytesRead } = await file.read(bytes, filled, bytes.length - filled, filled);
    if (bytesRead === 0) return undefined;
    filled += bytesRead;
  }
  return bytes;
}

/**
 * Whether what was read stands unchanged at the path that the rules allow. A folder on the way may have been
 * swapped for a link out of the root and back meanwhile. Linux knows where an open file really is, which holds no
 * link; elsewhere the path is followed once more.
 */
async function standsAt(file: FileHandle, listed: string, expected: FileFacts, reading: Reading): Promise<boolean> {
  const isListed =
    process.platform === 'linux'
      ? (await openedPath(file)) === listed
      : (await resolveListed(reading, reading.path)) === listed;
  return isListed && isSame(await readFacts(listed), expected);
}

async function openedPath(file: FileHandle): Promise<string> {
  return toText(await readlink(descriptorPath(file.fd), { encoding: 'latin1' }));
}

/** Nothing is there, or something that is no file has taken its place. */
function isNoFile(error: unknown): boolean {
  return isAbsent(error) || ['ELOOP', 'ENXIO', 'EISDIR'].includes(faultCode(error) ?? '');
}
