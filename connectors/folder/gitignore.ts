import { constants } from 'node:fs';
import { readFile } from 'node:fs/promises';
import ignore, { type Ignore } from 'ignore';
import { faultCode, isAbsent } from './faults.ts';
import { joinPath, toFilePath } from './names.ts';

/** Never waits for a pipe and never follows a link, as Git does not either. */
const readFlags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/**
 * The patterns that hold in a folder: those from above and its own .gitignore. `prefix` is the
 * folder's path from the root with a closing slash, empty for the root. Throws the system's error when
 * the file is there and cannot be read, because the rules are unknown then.
 */
export async function readIgnorePatterns(root: string, prefix: string, above: Ignore | undefined): Promise<Ignore> {
  // A new set for each folder: the package keeps a result for every path it was ever asked about.
  const patterns = ignore({ ignorecase: false });
  if (above !== undefined) patterns.add(above);
  const text = await readIgnoreFile(joinPath(root, `${prefix}.gitignore`));
  if (text === '') return patterns;
  return patterns.add(prefix === '' ? text : splitLines(text).flatMap((line) => nestPattern(line, prefix)));
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

/** A pattern of a subfolder's file as the root's file would say it (gitignore(5), “pattern format”). */
function nestPattern(line: string, prefix: string): string[] {
  if (line.startsWith('#')) return [];
  const isNegative = line.startsWith('!');
  const body = (isNegative ? line.slice(1) : line).replace(/^\\([#!])/, '$1');
  const visible = body.trimEnd();
  if (visible === '' || visible === '/') return [];
  const isAnchored = visible.slice(0, -1).includes('/');
  const nested = isAnchored ? body.replace(/^\//, '') : `**/${body}`;
  return [`${isNegative ? '!' : ''}/${prefix.replace(/[\\*?[ ]/g, '\\$&')}${nested}`];
}
