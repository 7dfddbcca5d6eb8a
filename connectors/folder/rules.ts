import type { Context } from 'memoryd/connector';
import type { FolderConfig } from './config.ts';
import { readIgnorePatterns, type IgnorePatterns } from './gitignore.ts';
import { compileGlobs, type GlobFilter } from './globs.ts';
import { joinPath, relativePath } from './names.ts';

/** Decides what of one root is mirrored. The one place: listing, look-up, fetching and watching all ask here. */
export interface Rules {
  /** The rules for the entries of a folder; undefined when the folder itself is left out. Throws like `enter`. */
  folder(path: string): Promise<FolderRules | undefined>;
  /** Whether a file at this path is mirrored. Throws like `enter`. */
  allowsFile(path: string): Promise<boolean>;
  /** Whether a real path lies in a folder of the daemon itself: never mirrored, whatever the configuration. */
  isOwn(realPath: string): boolean;
}

/** The rules for the entries of one folder. Names and paths are in text form. */
export interface FolderRules {
  allows(name: string, isFolder: boolean): boolean;
  /** The rules of a subfolder. Throws when its .gitignore counts and cannot be read: the rules are unknown then. */
  enter(name: string): Promise<FolderRules>;
}

/** What the rules of a folder are made of. */
export type RulesContext = Pick<Context<FolderConfig>, 'config' | 'ownFolders' | 'glob'>;

/** Throws `bad_config` for a pattern that is none. */
export function createRules(root: string, ctx: RulesContext): Rules {
  const filter = createFilter(root, ctx);
  return {
    folder: (path) => descend(filter, path === '' ? [] : path.split('/')),
    async allowsFile(path) {
      const names = path.split('/');
      const name = names.pop()!;
      const rules = await descend(filter, names);
      return rules !== undefined && rules.allows(name, false);
    },
    isOwn: filter.isOwn,
  };
}

interface Filter {
  readonly root: string;
  readonly globs: GlobFilter;
  readonly hidden: boolean;
  readonly gitignore: boolean;
  readonly isOwn: (realPath: string) => boolean;
  readonly compile: Context['glob'];
}

function createFilter(root: string, { config, ownFolders, glob }: RulesContext): Filter {
  const { include = [], exclude = [] } = config;
  return {
    root,
    compile: glob,
    globs: compileGlobs({ include, exclude, withUsualExcludes: config.defaultExcludes !== false }, glob),
    hidden: config.hidden === true,
    gitignore: config.gitignore === true,
    isOwn: (realPath) => ownFolders.some((own) => relativePath(own, realPath) !== undefined),
  };
}

async function descend(filter: Filter, names: readonly string[]): Promise<FolderRules | undefined> {
  let rules = await openFolder(filter, '', undefined);
  for (const name of names) {
    if (!rules.allows(name, true)) return undefined;
    rules = await rules.enter(name);
  }
  return rules;
}

/** `prefix` is the folder's path with a closing slash, empty for the root. */
async function openFolder(filter: Filter, prefix: string, above: IgnorePatterns | undefined): Promise<FolderRules> {
  const { root, compile } = filter;
  const patterns = filter.gitignore ? await readIgnorePatterns({ root, prefix, above }, compile) : undefined;
  return {
    allows(name, isFolder) {
      if (!allowsEntry(filter, prefix, name, isFolder)) return false;
      return !patterns?.ignores(prefix + name, isFolder);
    },
    enter: (name) => openFolder(filter, `${prefix}${name}/`, patterns),
  };
}

function allowsEntry(filter: Filter, prefix: string, name: string, isFolder: boolean): boolean {
  if (!filter.hidden && name.startsWith('.')) return false;
  const path = prefix + name;
  if (filter.globs.excludes(path, name, isFolder) || filter.isOwn(joinPath(filter.root, path))) return false;
  return isFolder ? filter.globs.mayInclude(path) : filter.globs.includesFile(path);
}
