import type { Context } from 'memoryd/connector';

/** The clutter that is left out unless `defaultExcludes` is false. */
const usualExcludes = [
  ...['.git', '.hg', '.svn', 'node_modules'],
  ...['.DS_Store', 'Thumbs.db', 'desktop.ini', '.Trash-*', '$RECYCLE.BIN', 'System Volume Information', 'lost+found'],
  ...['*~', '.#*', '#*#', '*.sw[op]', '~$*', '.~lock.*#', '*.tmp'],
  ...['*.crdownload', '*.part', '*.partial', '*.download'],
];

/** The data folder of the daemon: never mirrored, whatever the configuration. */
const ownDataFolder = '.memoryd';

export interface GlobFilter {
  /** `path` is relative to the root. Knows the entry itself, not the folders it lies in. */
  excludes(path: string, name: string, isFolder: boolean): boolean;
  /** Whether `include` takes the file, by its own path or by a folder it lies in. */
  includesFile(path: string): boolean;
  /** False for a folder in which `include` cannot take any file. */
  mayInclude(folderPath: string): boolean;
}

type Compile = Context['glob'];

export interface GlobRules {
  include: readonly string[];
  exclude: readonly string[];
  withUsualExcludes: boolean;
}

/** Throws what `compile` throws for a pattern that is none. */
export function compileGlobs({ include, exclude, withUsualExcludes }: GlobRules, compile: Compile): GlobFilter {
  // A mistake is told by the pattern as somebody wrote it.
  for (const pattern of [...include, ...exclude]) compile(pattern);
  const builtIn = [ownDataFolder, ...(withUsualExcludes ? usualExcludes : [])];
  const included = include.map(asFolder).map((pattern) => compile(includePattern(pattern)));
  const bases = include.map(baseFolder);
  return {
    excludes: compileExcludes([...builtIn, ...exclude.map(asFolder)], compile),
    includesFile: (path) => included.length === 0 || included.some((matches) => matches(path)),
    mayInclude: (path) =>
      bases.length === 0 || bases.some((base) => base === '' || isWithin(path, base) || isWithin(base, path)),
  };
}

function compileExcludes(patterns: readonly string[], compile: Compile): GlobFilter['excludes'] {
  const forAny = patterns.filter((pattern) => !pattern.endsWith('/'));
  const forFolders = patterns.filter((pattern) => pattern.endsWith('/')).map((pattern) => pattern.slice(0, -1));
  const matchesAny = compileEntries(forAny, compile);
  const matchesFolder = compileEntries(forFolders, compile);
  return (path, name, isFolder) => matchesAny(path, name) || (isFolder && matchesFolder(path, name));
}

/** Most patterns are bare names: those cost one look-up per entry. */
function compileEntries(patterns: readonly string[], compile: Compile): (path: string, name: string) => boolean {
  const bare = patterns.filter((pattern) => !pattern.includes('/'));
  const names = new Set(bare.filter((pattern) => !wildcard.test(pattern)));
  const onName = bare.filter((pattern) => wildcard.test(pattern)).map((pattern) => compile(pattern));
  const onPath = patterns.filter((pattern) => pattern.includes('/')).map((pattern) => compile(pattern));
  return (path, name) =>
    names.has(name) || onName.some((matches) => matches(name)) || onPath.some((matches) => matches(path));
}

/** What matches a folder takes everything in it. */
function includePattern(pattern: string): string {
  const trimmed = pattern.endsWith('/') ? pattern.slice(0, -1) : pattern;
  const anchored = trimmed.includes('/') ? trimmed : `**/${trimmed}`;
  return pattern.endsWith('/') ? `${anchored}/*/**` : `${anchored}/**`;
}

/** `drafts/**` names the folder from the root, and no file of that name. */
function asFolder(pattern: string): string {
  return /[^/]\/\*\*$/.test(pattern) ? `/${pattern.slice(0, -2)}` : pattern;
}

/** The part of a pattern before its first wildcard, where that is a path from the root. */
function baseFolder(pattern: string): string {
  const names = pattern.split('/').filter((name) => name !== '');
  const isAnchored = pattern.replace(/\/$/, '').includes('/');
  const literal = names.findIndex((name) => wildcard.test(name));
  return isAnchored ? names.slice(0, literal === -1 ? names.length : literal).join('/') : '';
}

const wildcard = /[*?[{}]/;

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}
