import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { MemorydError } from '../../base/errors.ts';

/** State of the embedded cluster's folder before the engine touches it. */
export interface ClusterDirectory {
  path: string;
  /** Where to make the cluster first; null when there is one. */
  makeIn: string | null;
}

/** The major version of PostgreSQL that PGlite 0.5 is; its files are of no use to another one. */
const engineVersion = 18;
const folderName = 'database';
const unfinishedPrefix = 'database.new-';

export const lockName = 'database.lock';

/**
 * Looks at the cluster's folder, and removes what interrupted starts left beside it. Nothing in a
 * folder that may hold data is ever deleted. Call it with the directory locked.
 * Throws `data_dir_damaged` or `database_newer`.
 */
export async function prepareCluster(dataDir: string): Promise<ClusterDirectory> {
  await removeUnfinished(dataDir);
  const path = join(dataDir, folderName);
  const files = await listOrNull(path);
  if (files === null || files.length === 0)
    return { path, makeIn: join(dataDir, `${unfinishedPrefix}${randomUUID()}`) };
  checkVersion(path, await versionOf(path));
  return { path, makeIn: null };
}

async function removeUnfinished(dataDir: string): Promise<void> {
  const names = (await readdir(dataDir)).filter((name) => name.startsWith(unfinishedPrefix));
  await Promise.all(names.map((name) => rm(join(dataDir, name), { recursive: true, force: true })));
}

async function listOrNull(path: string): Promise<string[] | null> {
  try {
    return await readdir(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return null;
    throw damaged(path, `it cannot be listed (${code})`, error);
  }
}

async function versionOf(path: string): Promise<number> {
  try {
    return Number(await readFile(join(path, 'PG_VERSION'), 'utf8'));
  } catch (error) {
    throw damaged(path, 'it has no readable PG_VERSION file', error);
  }
}

function checkVersion(path: string, version: number): void {
  if (version === engineVersion) return;
  if (version > engineVersion) {
    throw new MemorydError(
      'database_newer',
      `${path} was made with PostgreSQL ${version}, this memoryd has ${engineVersion}.`,
    );
  }
  throw damaged(path, `its PG_VERSION file does not say ${engineVersion}`);
}

/** The error for a cluster that cannot be opened; says that nothing was changed, and what to do. */
export function damaged(path: string, reason: string, cause?: unknown): MemorydError {
  return new MemorydError(
    'data_dir_damaged',
    `The embedded database in ${path} cannot be opened: ${reason}. Nothing was deleted. ` +
      'Restore the folder from a backup, or move it aside and start again: the sources are then mirrored anew.',
    { cause },
  );
}

/** Makes the data directory, for its owner only. */
export async function makeDataDir(dataDir: string): Promise<void> {
  try {
    await makeFolder(resolve(dataDir));
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
    throw new MemorydError(
      'config_invalid',
      `The data directory ${dataDir} cannot be made (${code}). Choose another with --data-dir.`,
      { cause: error },
    );
  }
}

/** Not `recursive`: with it, Node tries for ever where nothing can be made, as below /proc. */
async function makeFolder(path: string): Promise<void> {
  const exists = await stat(path).catch(() => null);
  if (exists?.isDirectory()) return;
  if (dirname(path) !== path) await makeFolder(dirname(path));
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    const made = await stat(path).catch(() => null);
    if (!made?.isDirectory()) throw error;
  }
}
