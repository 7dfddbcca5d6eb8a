import { gunzipSync } from 'node:zlib';
import { detect, failed } from './detect.ts';
import type { Extracted, Source } from './extracted.ts';

/** Above any limit of a text, and below what fills the memory. */
const maxUnpackedBytes = 64 * 1024 * 1024;

/** What a gzip file (RFC 1952) holds, which is one file: `manual.1.gz`, `changelog.gz`. */
export function gzipText(source: Source, read: (source: Source) => Promise<Extracted>): Promise<Extracted> {
  if (source.depth > 1) throw failed('The file is packed more than twice.');
  const name = source.name?.replace(/\.t?gz$/i, '');
  const bytes = unpack(source.bytes!);
  const { format: _, language: __, delimiter: ___, charset: ____, ...rest } = source;
  return read({
    ...{ ...rest, ...detect(bytes, undefined, name), bytes, depth: source.depth + 1 },
    ...(name !== undefined && { name }),
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
