import { opendir, realpath, stat } from 'node:fs/promises';
import type { BigIntStats } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, sep } from 'node:path';
import { badConfig, ConnectorError, sourceMissing, transient, type Context } from 'memoryd/connector';
import type { FolderConfig } from './config.ts';
import { faultCode, isAbsent, isDenied } from './faults.ts';
import { relativePath, toFilePath, toText } from './names.ts';

/**
 * The real path (text form, `/` as separator) of the configured folder. Throws as `statRoot` does, and
 * `bad_config` for a folder in which the daemon keeps its own data.
 */
export async function resolveRoot({
  config,
  ownFolders,
}: Pick<Context<FolderConfig>, 'config' | 'ownFolders'>): Promise<string> {
  const path = config.path.replace(/^~(?=$|[\\/])/, () => homedir());
  if (!isAbsolute(path)) {
    throw badConfig(`\`path\` must be absolute, and ${path} is not.`, 'Write the whole path, or begin it with `~/`.');
  }
  const root = await toRealPath(path).catch((error: unknown) => {
    throw rootError(error, path);
  });
  if (ownFolders.some((own) => relativePath(own, root) !== undefined)) {
    throw badConfig(`${path} holds the daemon’s own data and keys.`, 'Connect another folder.');
  }
  return root;
}

/** The real path in text form of any path in text form. Throws the system's errors. */
export async function toRealPath(path: string): Promise<string> {
  const real = toText(await realpath(toFilePath(path), { encoding: 'latin1' }));
  return sep === '/' ? real : real.replaceAll(sep, '/');
}

/** macOS and Windows may answer in another case or Unicode form than was asked for. */
export function isSamePath(first: string, second: string): boolean {
  return first === second || (process.platform !== 'linux' && foldCase(first) === foldCase(second));
}

/**
 * Which folder stands at the root now, as `device:inode`. Throws `source_missing` when it is not there
 * or not a folder, `forbidden` without permission, `transient` when the disk or server does not answer
 * or the path has become a link since it was resolved.
 */
export async function identifyRoot(root: string): Promise<string> {
  const stats = await statRoot(root);
  return `${stats.dev}:${stats.ino}`;
}

/** Runs a reading of the folder; throws `transient` when another folder or disk stands there afterwards. */
export async function onSteadyRoot<Result>(root: string, run: (identity: string) => Promise<Result>): Promise<Result> {
  const identity = await identifyRoot(root);
  const result = await run(identity);
  if ((await identifyRoot(root)) === identity) return result;
  throw transient(`${root} was replaced or its disk was mounted or unmounted while it was read.`);
}

/**
 * An empty folder that has never held anything: what is left at a mount point whose disk is not mounted.
 * Adding or removing an entry moves a folder's modification time past its birth, so a folder that was
 * emptied is told apart. File systems that keep no birth time give no such evidence, and count as unmounted.
 */
export async function looksUnmounted(root: string): Promise<boolean> {
  if (!(await isEmpty(root))) return false;
  const stats = await statRoot(root);
  return stats.birthtimeNs <= 0n || stats.mtimeNs <= stats.birthtimeNs;
}

/** Throws `source_missing` unless the root is there and can vouch for the absence of a file. */
export async function assertMounted(root: string): Promise<void> {
  await statRoot(root);
  if (!(await looksUnmounted(root))) return;
  throw sourceMissing(`${root} is empty, as if its disk were not mounted.`, unmountedRemedy);
}

export const unmountedRemedy =
  'Mount the disk again. If the folder is empty on purpose, put any file into it and remove it again.';

/** How many entries the root has, counting to `limit` at most. Throws as `identifyRoot` when it cannot be listed. */
export async function countEntries(root: string, limit: number): Promise<number> {
  let count = 0;
  try {
    for await (const _entry of await opendir(toFilePath(root))) {
      if (++count === limit) break;
    }
    return count;
  } catch (error) {
    if (!isAbsent(error)) throw rootError(error, root);
    // Node may have failed at an entry it could not look at (see `readEntries`): then there is one.
    await statRoot(root);
    return count + 1;
  }
}

async function isEmpty(root: string): Promise<boolean> {
  return (await countEntries(root, 1)) === 0;
}

async function statRoot(root: string): Promise<BigIntStats> {
  try {
    const stats = await stat(toFilePath(root), { bigint: true });
    const real = await toRealPath(root);
    if (!isSamePath(real, root)) throw transient(`${root} now leads to ${real}.`);
    if (stats.isDirectory()) return stats;
  } catch (error) {
    throw rootError(error, root);
  }
  throw sourceMissing(`${root} is not a folder.`, 'Correct `path`, or put the folder back.');
}

function rootError(error: unknown, path: string): unknown {
  if (isAbsent(error) || faultCode(error) === 'ENOTCONN' || faultCode(error) === 'ELOOP') {
    return new ConnectorError('source_missing', `${path} is not there (${faultCode(error)}).`, {
      remedy: 'Mount its disk, put the folder back, or correct `path`.',
      cause: error,
    });
  }
  if (isDenied(error)) {
    return new ConnectorError('forbidden', `No permission to read ${path} (${faultCode(error)}).`, {
      remedy: 'Give the user that runs the daemon permission to read and enter the folder.',
      cause: error,
    });
  }
  return faultCode(error) === undefined ? error : transient(`${path} does not answer (${faultCode(error)}).`, error);
}

function foldCase(path: string): string {
  return path.normalize('NFC').toLowerCase();
}
