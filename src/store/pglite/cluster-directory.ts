import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { MemorydError } from '../../base/errors.ts';

/** What the folder of the embedded cluster is, before the engine touches it. */
export interface ClusterDirectory {
  path: string;
  /** Where to make the cluster first; null when there is one. */
  makeIn: string | null;
}

/** The major version of PostgreSQL that PGlite 0.5 is; its files are of no use to another one. */
const engineVersion = 18;
const folderName = 'database';
const unfinished = /^database\.new-/;
const lockLeftover = /^database\.lock\../;
const leftoverAgeMs = 60_000;

export const lockName = 'database.lock';

/**
 * Looks at the cluster's folder, and removes what interrupted starts left beside it. Nothing in a
 * folder that may hold data is ever deleted. Call it with the directory locked.
 * Throws `data_dir_damaged` or `database_newer`.
 */
export async function prepareCluster(dataDir: string, now: Date): Promise<ClusterDirectory> {
  await removeLeftovers(dataDir, now);
  const path = join(dataDir, folderName);
  const files = await listOrNull(path);
  if (files === null || files.length === 0) return { path, makeIn: join(dataDir, `database.new-${randomUUID()}`) };
  checkVersion(path, await versionOf(path));
  return { path, makeIn: null };
}

async function removeLeftovers(dataDir: string, now: Date): Promise<void> {
  for (const name of await readdir(dataDir)) {
    const path = join(dataDir, name);
    if (unfinished.test(name)) await rm(path, { recursive: true, force: true });
    // A younger one may be the lock that another process is about to ask for.
    if (lockLeftover.test(name) && (await ageMs(path, now)) > leftoverAgeMs) await rm(path, { force: true });
  }
}

async function ageMs(path: string, now: Date): Promise<number> {
  try {
    return now.getTime() - (await stat(path)).mtimeMs;
  } catch {
    return 0;
  }
}

async function listOrNull(path: string): Promise<string[] | null> {
  try {
    return await readdir(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
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
    throw new MemorydError('database_newer', `${path} was made with PostgreSQL ${version}, this memoryd has ${engineVersion}.`);
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
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
}
