import { constants } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Context } from 'memoryd/connector';
import { faultCode, isAbsent } from './faults.ts';
import { joinPath, toFilePath } from './names.ts';

/** Never waits for a pipe and never follows a link, as Git does not either. */
const readFlags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** The patterns of one folder's .gitignore, and of those above it. */
export interface IgnorePatterns {
  /** `path` is relative to the root. Knows the entry itself, not the folders it lies in. */
  ignores(path: string, isFolder: boolean): boolean;
  /** The same, of the last pattern that matches; undefined when none does. */
  decides(path: string, isFolder: boolean): boolean | undefined;
}

/**
 * The patterns that hold in a folder: those from above and its own .gitignore. `prefix` is the
 * folder's path from the root with a closing slash, empty for the root. Throws the system's error when
 * the file is there and cannot be read, because the rules are unknown then.
 */
export async function readIgnorePatterns(
  { root, prefix, above }: { root: string; prefix: string; above: IgnorePatterns | undefined },
  compile: Context['glob'],
): Promise<IgnorePatterns> {
  const text = await readIgnoreFile(joinPath(root, `${prefix}.gitignore`));
  const patterns = splitLines(text).flatMap((line) => parseLine(line, compile) ?? []);
  const decides: IgnorePatterns['decides'] = (path, isFolder) => {
    const own = path.slice(prefix.length);
    const last = patterns.findLast(({ foldersOnly, matches }) => (isFolder || !foldersOnly) && matches(own));
    return last ? last.ignores : above?.decides(path, isFolder);
  };
  return { decides, ignores: (path, isFolder) => decides(path, isFolder) === true };
}

async function readIgnoreFile(path: string): Promise<string> {
  try {
    return await readFile(toFilePath(path), { encoding: 'utf8', flag: readFlags });
  } catch (error) {
    const isNoFile = isAbsent(error) || ['EISDIR', 'ELOOP', 'ENXIO'].includes(faultCode(error) ?? '');
    if (isNoFile) return '';
    throw error;
  }
}

function splitLines(text: string): string[] {
  return text.replace(/^\ufeff/, '').split(/\r?\n/);
}

interface IgnorePattern {
  /** False for one that takes back what others ignore. */
  ignores: boolean;
  foldersOnly: boolean;
  matches(path: string): boolean;
}

/** gitignore(5), “pattern format”. Null for what says nothing, and for what is no pattern: Git matches nothing by it. */
function parseLine(line: string, compile: Context['glob']): IgnorePattern | null {
  if (line.startsWith('#')) return null;
  const text = withoutTrailingSpaces(line);
  const ignores = !text.startsWith('!');
  const body = ignores ? text : text.slice(1);
  const foldersOnly = body.endsWith('/');
  const pattern = foldersOnly ? body.slice(0, -1) : body;
  if (pattern.replaceAll('/', '') === '') return null;
  const glob = toGlob(pattern);
  try {
    return { ignores, foldersOnly, matches: compile(pattern.includes('/') ? glob : `**/${glob}`) };
  } catch {
    return null;
  }
}

/** A space that is escaped stays. */
function withoutTrailingSpaces(line: string): string {
  const trimmed = line.replace(/ +$/, '');
  const escapes = trimmed.length - trimmed.replace(/\\+$/, '').length;
  return escapes % 2 === 1 && trimmed.length < line.length ? `${trimmed} ` : trimmed;
}

/** What is escaped, and braces, stand for themselves; a folder that ends in two stars is not in itself. */
function toGlob(pattern: string): string {
  const literal = pattern.replaceAll(/\\(.)|[{}]|\[[!^]?\]?[^\]]*\]/gsu, (part, escaped: string | undefined) => {
    if (escaped !== undefined) return plain.test(escaped) ? escaped : `[${escaped}]`;
    return part.length === 1 ? `[${part}]` : part;
  });
  return literal.replace(/\/\*\*$/, '/**/*');
}

const plain = /[^*?[\]{}]/;
