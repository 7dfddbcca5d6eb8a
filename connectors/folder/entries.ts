import type { Dirent } from 'node:fs';
import { lstat, opendir, readdir } from 'node:fs/promises';
import { readFacts } from './facts.ts';
import { isAbsent } from './faults.ts';
import { toFilePath, toRaw } from './names.ts';

/** The names in a folder, in raw form and in no particular order. Pipes, sockets and devices are left out. */
export interface FolderEntries {
  /** Files, and folders with a closing slash. */
  names: string[];
  /** Symbolic links, whatever they lead to. */
  links: string[];
}

/** Anything that can tell its kind: a folder entry or the result of `lstat`. */
type Typed = Pick<Dirent, 'isFile' | 'isDirectory' | 'isSymbolicLink'>;

/** A folder whose own record is this large (some 5,000 names and more) is read piecemeal: all at once would cost 300 bytes a name. */
const largeFolderBytes = 256 * 1024;

/**
 * Reads the folder at `path` (text form). What is no folder, or a link to one unless `followLink`, has
 * no entries. Throws the system's errors.
 */
export async function readEntries(path: string, followLink = false, read = readTyped): Promise<FolderEntries> {
  const facts = await readFacts(path, followLink);
  if (facts.kind !== 'folder') return { names: [], links: [] };
  try {
    return await read(path, facts.bytes >= largeFolderBytes);
  } catch (error) {
    if (!isAbsent(error)) throw error;
    // On file systems that tell no kinds Node looks at each entry itself, and fails as if the folder
    // were gone when one has a name outside ASCII or vanishes meanwhile.
    return readUntyped(path);
  }
}

/** The same with one `lstat` per entry. Entries that vanish meanwhile are left out. */
export async function readUntyped(path: string): Promise<FolderEntries> {
  const entries: FolderEntries = { names: [], links: [] };
  const folder = toRaw(path);
  for (const name of await readdir(toFilePath(path), { encoding: 'latin1' })) {
    try {
      addEntry(entries, name, await lstat(Buffer.from(`${folder}/${name}`, 'latin1')));
    } catch (error) {
      if (!isAbsent(error)) throw error;
    }
  }
  return entries;
}

async function readTyped(path: string, isLarge: boolean): Promise<FolderEntries> {
  const entries: FolderEntries = { names: [], links: [] };
  if (isLarge) {
    const folder = await opendir(toFilePath(path), { encoding: 'latin1', bufferSize: 1_024 });
    for await (const entry of folder) addEntry(entries, entry.name, entry);
  } else {
    const found = await readdir(toFilePath(path), { withFileTypes: true, encoding: 'latin1' });
    for (const entry of found) addEntry(entries, entry.name, entry);
  }
  return entries;
}

function addEntry(entries: FolderEntries, name: string, typed: Typed): void {
  if (typed.isFile()) entries.names.push(name);
  else if (typed.isDirectory()) entries.names.push(`${name}/`);
  else if (typed.isSymbolicLink()) entries.links.push(name);
}
