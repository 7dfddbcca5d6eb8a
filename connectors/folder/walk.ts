import type { UnreadPart } from 'memoryd/connector';
import { readEntries } from './entries.ts';
import { faultCode, isAbsent } from './faults.ts';
import { resolveLink } from './links.ts';
import { joinPath, toRaw, toText } from './names.ts';
import type { FolderRules, Rules } from './rules.ts';

export interface WalkOptions {
  root: string;
  rules: Rules;
  followLinks: boolean;
  signal: AbortSignal;
  /** Walk only this folder (path from the root, text form). Default: the root. */
  folder?: string;
  /** That folder was reached through a link. */
  isLinked?: boolean;
  /** Go on behind this position of an earlier walk. */
  after?: string;
}

export interface WalkedFile {
  /** Path from the root, text form. */
  path: string;
  name: string;
  /** A symbolic link that is followed. */
  isLink: boolean;
}

/** A walk over the files below a folder, in byte order of their whole paths. */
export interface Walk {
  /** Where the walk stands: goes into `after`. Opaque, valid for any later walk of the same tree. */
  readonly position: string;
  readonly isDone: boolean;
  readonly problems: WalkProblems;
  /** The next files, at most `limit`. May be fewer, even none, before the walk is done. */
  take(limit: number): Promise<WalkedFile[]>;
}

/** Places that a walk could not read. */
export interface WalkProblems {
  /** Takes the system's errors; throws any other. */
  add(path: string, error: unknown): void;
  /** The problems since the last call, by path from the root. */
  take(): UnreadPart[];
}

/** A folder on the current path. Only these are held in memory. */
interface Frame {
  /** Path from the root in raw form, empty or with a closing slash. */
  readonly raw: string;
  readonly path: string;
  /** Sorted raw names; those of folders end in a slash, which makes the order that of whole paths. */
  readonly names: readonly string[];
  readonly links: ReadonlySet<string>;
  readonly rules: FolderRules;
  /** Reached through a link: no further link is followed below. */
  readonly isLinked: boolean;
  next: number;
}

/** Entries looked at per file asked for, so that a page ends in bounded time where rules leave out nearly everything. */
const effortPerFile = 20;
const noLinks: ReadonlySet<string> = new Set();

export async function openWalk(options: WalkOptions): Promise<Walk> {
  const after = options.after === undefined ? '' : toRaw(options.after);
  const problems = gatherProblems();
  const stack: Frame[] = [];
  let position = after;

  /** `raw` is the folder's path in raw form, empty or with a closing slash. */
  async function enter(raw: string, isLinked: boolean, findRules: () => Promise<FolderRules | undefined>) {
    options.signal.throwIfAborted();
    const path = toText(raw.replace(/\/$/, ''));
    try {
      const rules = await findRules();
      if (rules === undefined) return;
      const listing = await readFolder(options, path, isLinked, rules, problems);
      const next = firstBehind(listing.names, raw, after);
      stack.push({ raw, path: path === '' ? '' : `${path}/`, ...listing, rules, isLinked, next });
    } catch (error) {
      if (path === '' || !isAbsent(error)) problems.add(path, error);
    }
  }

  async function take(limit: number): Promise<WalkedFile[]> {
    const files: WalkedFile[] = [];
    for (let effort = limit * effortPerFile; effort > 0 && files.length < limit; effort--) {
      const frame = dropFinished(stack);
      if (frame === undefined) break;
      const rawName = frame.names[frame.next++]!;
      position = frame.raw + rawName;
      const isFolder = rawName.endsWith('/');
      const name = toText(isFolder ? rawName.slice(0, -1) : rawName);
      if (!frame.rules.allows(name, isFolder)) continue;
      const isLink = frame.links.has(rawName);
      if (isFolder) await enter(position, frame.isLinked || isLink, () => frame.rules.enter(name));
      else files.push({ path: frame.path + name, name, isLink });
    }
    dropFinished(stack);
    return files;
  }

  const start = options.folder ?? '';
  await enter(start === '' ? '' : `${toRaw(start)}/`, options.isLinked === true, () => options.rules.folder(start));
  return {
    get position() {
      return toText(position);
    },
    get isDone() {
      return stack.length === 0;
    },
    problems,
    take,
  };
}

function gatherProblems(): WalkProblems {
  let parts = new Map<string, UnreadPart>();
  return {
    add(path, error) {
      const code = faultCode(error);
      if (code === undefined) throw error;
      parts.set(path, { path, reason: code });
    },
    take() {
      const taken = [...parts.values()];
      parts = new Map();
      return taken;
    },
  };
}

interface FolderListing {
  names: string[];
  links: ReadonlySet<string>;
}

async function readFolder(
  options: WalkOptions,
  path: string,
  isLinked: boolean,
  rules: FolderRules,
  problems: WalkProblems,
): Promise<FolderListing> {
  const { names, links } = await readEntries(joinPath(options.root, path), isLinked || path === '');
  if (links.length === 0 || isLinked || !options.followLinks) return { names: names.sort(), links: noLinks };
  const followed = await followLinks(options, path, links, rules, problems);
  return { names: names.concat(followed).sort(), links: new Set(followed) };
}

/** The names of the links that are followed, as `FolderEntries` has them. */
async function followLinks(
  options: WalkOptions,
  path: string,
  links: readonly string[],
  rules: FolderRules,
  problems: WalkProblems,
): Promise<string[]> {
  const followed: string[] = [];
  const folder = joinPath(options.root, path);
  for (const raw of links) {
    const name = toText(raw);
    if (!rules.allows(name, false) && !rules.allows(name, true)) continue;
    try {
      const target = await resolveLink(options, folder, joinPath(folder, name));
      if (target !== undefined) followed.push(target === 'folder' ? `${raw}/` : raw);
    } catch (error) {
      problems.add(path === '' ? name : `${path}/${name}`, error);
    }
  }
  return followed;
}

/** Ends the folders that have nothing left; the one to go on with, or undefined at the end. */
function dropFinished(stack: Frame[]): Frame | undefined {
  for (;;) {
    const frame = stack.at(-1);
    if (frame === undefined || frame.next < frame.names.length) return frame;
    stack.pop();
  }
}

/** The first name of a folder whose path comes after the position, or that is a folder the position lies in. */
function firstBehind(names: readonly string[], folder: string, after: string): number {
  if (!after.startsWith(folder)) return 0;
  let low = 0;
  let high = names.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (folder + names[middle]! <= after) low = middle + 1;
    else high = middle;
  }
  const previous = names[low - 1];
  return previous?.endsWith('/') && after.startsWith(folder + previous) ? low - 1 : low;
}
