import { chmod, lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** Names of memoryd's own files in the data directory; anything else there belongs to somebody else and is left alone. */
const ownNames = /^(?:backups|database|daemon\.json|encryption\.key|models|uploads)(?:$|\.)/;
const groupAndOthers = 0o077;

/**
 * Takes the rights of the group and of others from everything memoryd keeps in its data directory, and from the
 * directory itself unless it holds files of somebody else. Windows has no such rights: nothing is done there.
 */
export async function makePrivate(dataDir: string): Promise<void> {
  for (const { path, mode } of await openToOthers(dataDir)) await chmod(path, mode & ~groupAndOthers);
}

/** Files that `makePrivate` would change, with their present modes. Empty for a directory that does not exist. */
export async function openToOthers(dataDir: string): Promise<{ path: string; mode: number }[]> {
  if (process.platform === 'win32') return [];
  const names = await readdir(dataDir).catch(unlessGone([]));
  const own = names.filter((name) => ownNames.test(name));
  const shared = own.length < names.length;
  const paths = [...(shared ? [] : [dataDir]), ...own.map((name) => join(dataDir, name))];
  const below = await Promise.all(own.map((name) => everythingIn(join(dataDir, name))));
  const looked = await Promise.all([...paths, ...below.flat()].map(modeOf));
  return looked.filter((one) => one !== null && (one.mode & groupAndOthers) !== 0) as { path: string; mode: number }[];
}

async function everythingIn(path: string): Promise<string[]> {
  const isDirectory = (await lstat(path).catch(unlessGone(null)))?.isDirectory() ?? false;
  if (!isDirectory) return [];
  const names = await readdir(path, { recursive: true }).catch(unlessGone([]));
  return names.map((name) => join(path, name));
}

/** Null for what is gone, and for links: their own mode means nothing. */
async function modeOf(path: string): Promise<{ path: string; mode: number } | null> {
  const found = await lstat(path).catch(unlessGone(null));
  return found === null || found.isSymbolicLink() ? null : { path, mode: found.mode & 0o7777 };
}

/** A running daemon removes files while they are looked at. */
function unlessGone<Instead>(instead: Instead): (error: unknown) => Instead {
  return (error) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return instead;
    throw error;
  };
}
