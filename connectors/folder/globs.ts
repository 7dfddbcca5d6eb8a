import picomatch from 'picomatch';

/** The clutter that is left out unless `defaultExcludes` is false. */
const usualExcludes = [
  ...['.git', '.hg', '.svn', 'node_modules'],
  ...['.DS_Store', 'Thumbs.db', 'desktop.ini', '.Trash-*', '$RECYCLE.BIN', 'System Volume Information', 'lost+found'],
  ...['*~', '.#*', '#*#', '*.sw[op]', '~$*', '.~lock.*#', '*.tmp'],
  ...['*.crdownload', '*.part', '*.partial', '*.download'],
];

/** The data folder of the daemon: never mirrored, whatever the configuration. */
const ownDataFolder = '.memoryd';

const excludesOwn = compileExcludes([ownDataFolder]);
const excludesUsual = compileExcludes([ownDataFolder, ...usualExcludes]);

export interface GlobFilter {
  /** `path` is relative to the root. Knows the entry itself, not the folders it lies in. */
  excludes(path: string, name: string, isFolder: boolean): boolean;
  /** Whether `include` takes the file, by its own path or by a folder it lies in. */
  includesFile(path: string): boolean;
  /** False for a folder in which `include` cannot take any file. */
  mayInclude(folderPath: string): boolean;
}

export function compileGlobs(
  include: readonly string[],
  exclude: readonly string[],
  withUsualExcludes: boolean,
): GlobFilter {
  const builtIn = withUsualExcludes ? excludesUsual : excludesOwn;
  const excluded = compileExcludes(exclude.map(asFolder));
  const included = joinMatchers(include.map(asFolder).flatMap(includePatterns));
  const bases = include.map(baseFolder);
  return {
    excludes: (path, name, isFolder) => builtIn(path, name, isFolder) || excluded(path, name, isFolder),
    includesFile: (path) => included === undefined || included.test(path),
    mayInclude: (path) =>
      bases.length === 0 || bases.some((base) => base === '' || isWithin(path, base) || isWithin(base, path)),
  };
}

function compileExcludes(patterns: readonly string[]): GlobFilter['excludes'] {
  const forAny = patterns.filter((pattern) => !pattern.endsWith('/'));
  const forFolders = patterns.filter((pattern) => pattern.endsWith('/')).map((pattern) => pattern.slice(0, -1));
  const matchesAny = compileEntries(forAny);
  const matchesFolder = compileEntries(forFolders);
  return (path, name, isFolder) => matchesAny(path, name) || (isFolder && matchesFolder(path, name));
}

/** Most patterns are bare names: those cost one look-up per entry, and the rest two expressions in all. */
function compileEntries(patterns: readonly string[]): (path: string, name: string) => boolean {
  const bare = patterns.filter((pattern) => !pattern.includes('/'));
  const names = new Set(bare.filter((pattern) => !isGlob(pattern)));
  const nameMatcher = joinMatchers(bare.filter(isGlob));
  const pathMatcher = joinMatchers(patterns.filter((pattern) => pattern.includes('/')).map(withoutLeadingSlash));
  return (path, name) =>
    names.has(name) || nameMatcher?.test(name) === true || (pathMatcher !== undefined && pathMatcher.test(path));
}

function includePatterns(pattern: string): string[] {
  const foldersOnly = pattern.endsWith('/');
  const trimmed = foldersOnly ? pattern.slice(0, -1) : pattern;
  const anchored = trimmed.includes('/') ? withoutLeadingSlash(trimmed) : `**/${trimmed}`;
  return foldersOnly ? [`${anchored}/**/*`] : [anchored, `${anchored}/**/*`];
}

/** `drafts/**` names the folder from the root; to picomatch it would also match a file of that name. */
function asFolder(pattern: string): string {
  return /[^/]\/\*\*$/.test(pattern) ? `/${withoutLeadingSlash(pattern.slice(0, -2))}` : pattern;
}

/** The part of a pattern before its first wildcard, where that is a path from the root. */
function baseFolder(pattern: string): string {
  const trimmed = pattern.replace(/\/$/, '');
  return trimmed.includes('/') ? picomatch.scan(withoutLeadingSlash(trimmed)).base : '';
}

function joinMatchers(globs: readonly string[]): RegExp | undefined {
  if (globs.length === 0) return undefined;
  return new RegExp(globs.map((glob) => picomatch.makeRe(glob, { dot: true }).source).join('|'));
}

function isGlob(pattern: string): boolean {
  return /[*?[\]{}()\\+@!|]/.test(pattern);
}

function withoutLeadingSlash(pattern: string): string {
  return pattern.startsWith('/') ? pattern.slice(1) : pattern;
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}
