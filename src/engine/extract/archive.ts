import { present } from '../../base/collections.ts';
import { gunzipSync } from 'node:zlib';
import { MemorydError } from '../../base/errors.ts';
import { detect } from './detect.ts';
import { bytesOf, failed, type Extracted, type ReadMember, type Source } from './extracted.ts';
import { openParts, type Parts } from './parts.ts';

const mostMembers = 500;
const separator = '\n\n';

/**
 * The files in a ZIP archive that hold text, each below its path. What holds none is counted, and an archive
 * within an archive is not opened. Throws `extract_failed` when the archive is damaged or no file of it can be read.
 */
export async function archiveText(source: Source, readMember: ReadMember): Promise<Omit<Extracted, 'type'>> {
  if (source.depth > 1) throw failed('This archive lies too deep in other files: unpack it to have its files read.');
  const parts = openParts(bytesOf(source), 'ZIP archive');
  const names = parts.names.filter((name) => !name.endsWith('/') && !/(?:^|\/)(?:__MACOSX\/|\.)/.test(name)).sort();
  const texts: string[] = [];
  let left = source.maxTextBytes;
  const unread: string[] = [];
  let examined = 0;
  for (const name of names.slice(0, mostMembers)) {
    const text = await memberText(parts, name, left, readMember);
    examined += 1;
    if (MemorydError.is(text)) unread.push(`${name}: ${text.message}`);
    else {
      const part = `## ${name}\n\n${text}`;
      texts.push(part);
      left -= Buffer.byteLength(part) + separator.length;
    }
    if (left <= 0) break;
  }
  if (names.length === 0) throw failed('The ZIP archive is empty.');
  if (texts.length === 0) throw failed(`${whole(names.length)} ${unread[0]}`);
  const degraded = [
    ...(unread.length > 0
      ? [`${unread.length} of ${names.length} files in the archive hold no text that can be read.`]
      : []),
    ...(examined < names.length ? [`Only the first ${examined} of ${names.length} files were read.`] : []),
  ];
  return { text: texts.join(separator), format: 'markdown', title: null, degraded };
}

function whole(files: number): string {
  return files === 1
    ? 'The file in the ZIP archive cannot be read.'
    : `None of ${files} files in the ZIP archive can be read.`;
}

/** The error when it holds no text that can be read, or more than is left. */
async function memberText(
  parts: Parts,
  path: string,
  maxTextBytes: number,
  readMember: ReadMember,
): Promise<string | MemorydError> {
  const name = path.slice(path.lastIndexOf('/') + 1);
  try {
    return await readMember({ bytes: parts.bytes(path)!, name, maxTextBytes, depth: 2 });
  } catch (error) {
    if (MemorydError.is(error)) return error;
    throw error;
  }
}

/** Above any limit of a text, and below what fills the memory. */
const maxUnpackedBytes = 64 * 1024 * 1024;

/** The content of a gzip file (RFC 1952), which holds one file: `manual.1.gz`, `changelog.gz`. */
export function gzipText(source: Source, read: (source: Source) => Promise<Extracted>): Promise<Extracted> {
  if (source.depth > 1) throw failed('The file is packed more than twice.');
  const name = source.name?.replace(/\.t?gz$/i, '');
  const bytes = unpack(bytesOf(source));
  const { format: _, language: __, delimiter: ___, charset: ____, ...rest } = source;
  return read({
    ...{ ...rest, ...detect(bytes, undefined, name), bytes, depth: source.depth + 1 },
    ...present({ name }),
  });
}

function unpack(bytes: Uint8Array): Uint8Array {
  try {
    return gunzipSync(bytes, { maxOutputLength: maxUnpackedBytes });
  } catch (error) {
    const isBomb = error instanceof RangeError && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
    throw failed(
      isBomb ? `The file unpacks to more than ${maxUnpackedBytes >> 20} MiB.` : 'The gzip file is damaged.',
      error,
    );
  }
}
