import { watch, type FSWatcher } from 'node:fs';
import { readEntries } from './entries.ts';
import { faultCode, isAbsent, isDenied } from './faults.ts';
import { joinPath, toFilePath, toText } from './names.ts';
import type { FolderRules, Rules } from './rules.ts';

/** Watches a tree and reports the paths that were touched. Paths are relative to the root, in text form. */
export interface TreeWatch {
  /** The system names single paths only, so a vanished one may have been a folder with files below. */
  readonly isRecursive: boolean;
  /** Whether a folder at this path is being watched. */
  holds(path: string): boolean;
  /** Watches the folder at this path, if there is one, and those below it anew. Throws when the system's limit is reached. */
  renew(path: string): Promise<void>;
  close(): void;
}

export interface TouchListener {
  /** An entry was made, changed, moved or removed; undefined: somewhere, the system did not say where. */
  touched(path: string | undefined): void;
  failed(error: unknown): void;
}

/** Begins to watch a tree; what the rules leave out need not be. */
export type WatchTree = (root: string, rules: Rules, listener: TouchListener) => TreeWatch;

interface WatchedFolder {
  readonly name: string;
  readonly parent: WatchedFolder | undefined;
  readonly watcher: FSWatcher;
  readonly children: Map<string, WatchedFolder>;
}

/**
 * One watcher per folder, for systems that watch folders singly (Linux). Memory grows with the number
 * of folders, some 3 KB each, not of files. A folder that moves keeps its watchers under the old path,
 * so whoever listens must `renew` a folder's path when an event names it.
 */
export const watchFolders: WatchTree = (root, rules, listener) => {
  let top: WatchedFolder | undefined;
  let isClosed = false;

  /** Watched before it is read, so that a folder made meanwhile is found by one or the other. */
  async function grow(name: string, parent: WatchedFolder | undefined, folderRules: FolderRules): Promise<void> {
    const folder = openWatched(root, name, parent, listener);
    if (folder === undefined) return;
    if (parent === undefined) top = folder;
    else parent.children.set(name, folder);
    for (const child of await readFolderNames(root, pathOf(folder))) {
      if (isClosed) return;
      if (folder.children.has(child) || !folderRules.allows(child, true)) continue;
      const childRules = await unlessUnreadable(folderRules.enter(child));
      if (childRules !== undefined) await grow(child, folder, childRules);
    }
  }

  function find(path: string): WatchedFolder | undefined {
    let folder = top;
    for (const name of path === '' ? [] : path.split('/')) folder = folder?.children.get(name);
    return folder;
  }

  function closeAll(): void {
    if (top !== undefined) closeBelow(top);
    top = undefined;
  }

  return {
    isRecursive: false,
    holds: (path) => find(path) !== undefined,
    async renew(path) {
      const old = find(path);
      if (path === '') closeAll();
      else if (old !== undefined) closeBelow(old);
      const cut = path.lastIndexOf('/');
      const parent = path === '' ? undefined : find(path.slice(0, Math.max(cut, 0)));
      if (isClosed || (path !== '' && parent === undefined)) return;
      const folderRules = await unlessUnreadable(rules.folder(path));
      if (folderRules !== undefined && !isClosed) await grow(path.slice(cut + 1), parent, folderRules);
      if (isClosed) closeAll();
    },
    close() {
      isClosed = true;
      closeAll();
    },
  };
};

/** One watcher for the whole tree, for systems that can (macOS, Windows). */
export const watchRecursively: WatchTree = (root, _rules, listener) => {
  const watcher = watch(toFilePath(root), { recursive: true, encoding: 'latin1' });
  watcher.on('change', (_type, entry) => {
    listener.touched(typeof entry === 'string' ? toText(entry).replaceAll('\\', '/') : undefined);
  });
  watcher.on('error', (error) => listener.failed(error));
  return { isRecursive: true, holds: () => false, renew: () => Promise.resolve(), close: () => watcher.close() };
};

/** The system cannot watch as many folders, or open as many files, as the tree needs. */
export function isLimitReached(error: unknown): boolean {
  return ['ENOSPC', 'EMFILE', 'ENFILE', 'ENOMEM'].includes(faultCode(error) ?? '');
}

/** Undefined for a folder that has vanished or may not be read: there is nothing to report from it. */
function openWatched(
  root: string,
  name: string,
  parent: WatchedFolder | undefined,
  listener: TouchListener,
): WatchedFolder | undefined {
  const path = toFilePath(joinPath(root, parent === undefined ? '' : pathBelow(parent, name)));
  try {
    const watcher = watch(path, { encoding: 'latin1' });
    const folder: WatchedFolder = { name, parent, watcher, children: new Map() };
    watcher.on('change', (_type, entry) => {
      listener.touched(typeof entry === 'string' ? pathBelow(folder, toText(entry)) : undefined);
    });
    watcher.on('error', (error) => listener.failed(error));
    return folder;
  } catch (error) {
    if (isAbsent(error) || isDenied(error)) return undefined;
    throw error;
  }
}

async function readFolderNames(root: string, path: string): Promise<string[]> {
  const entries = await unlessUnreadable(readEntries(joinPath(root, path), path === ''));
  const folders = entries?.names.filter((name) => name.endsWith('/')) ?? [];
  return folders.map((name) => toText(name.slice(0, -1)));
}

/** Undefined for what has vanished or may not be read: the listing tells of it, here there is nothing to watch. */
async function unlessUnreadable<Value>(reading: Promise<Value>): Promise<Value | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (isAbsent(error) || isDenied(error)) return undefined;
    throw error;
  }
}

function closeBelow(folder: WatchedFolder): void {
  folder.watcher.close();
  folder.parent?.children.delete(folder.name);
  for (const child of [...folder.children.values()]) closeBelow(child);
}

function pathOf(folder: WatchedFolder): string {
  return folder.parent === undefined ? '' : pathBelow(folder.parent, folder.name);
}

function pathBelow(folder: WatchedFolder, name: string): string {
  const path = pathOf(folder);
  return path === '' ? name : `${path}/${name}`;
}
