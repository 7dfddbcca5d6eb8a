import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate, inflateRaw } from 'node:zlib';
import { skip, transient } from '../../connector/contract.ts';

type Decoder = (bytes: Uint8Array, options: { maxOutputLength: number }) => Promise<Uint8Array>;

const unzip: Decoder = promisify(gunzip);
const zlib: Decoder = promisify(inflate);
const raw: Decoder = promisify(inflateRaw);

const decoders: Record<string, Decoder> = {
  gzip: unzip,
  'x-gzip': unzip,
  br: promisify(brotliDecompress),
  // Some servers leave out the zlib header (RFC 9110 section 8.4.1.2).
  deflate: (bytes, options) => ((bytes[0]! & 0x0f) === 8 ? zlib : raw)(bytes, options),
};

/** What `decode` understands. */
export const acceptedCodings = 'gzip, deflate, br';

/** The bytes of a body, counted while they come. Throws `skip` of `too_large` at the first byte too many. */
export async function readBody(
  body: AsyncIterable<Uint8Array>,
  headers: Record<string, string>,
  options: { maxBytes: number; target: string; hasBody: boolean },
): Promise<Uint8Array> {
  if (options.hasBody && Number(headers['content-length']) > options.maxBytes) throw tooLarge(options);
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of body) {
    size += part.length;
    if (size > options.maxBytes) throw tooLarge(options);
    parts.push(part);
  }
  const bytes = parts.length === 1 ? parts[0]! : Buffer.concat(parts, size);
  return size === 0 ? bytes : decode(bytes, headers['content-encoding'], options);
}

async function decode(
  bytes: Uint8Array,
  codings: string | undefined,
  options: { maxBytes: number; target: string },
): Promise<Uint8Array> {
  let decoded = bytes;
  // The last coding was applied last.
  for (const coding of (codings ?? '').toLowerCase().split(',').toReversed()) {
    const name = coding.trim();
    if (name === '' || name === 'identity') continue;
    const decoder = decoders[name];
    if (!decoder)
      throw transient(`${options.target} answered in the coding ${name.slice(0, 20)}, which nobody asked for`);
    try {
      decoded = await decoder(decoded, { maxOutputLength: options.maxBytes });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(options);
      throw transient(`${options.target} answered with damaged ${name} data`, error);
    }
  }
  return decoded;
}

function tooLarge({ maxBytes, target }: { maxBytes: number; target: string }): Error {
  return skip('too_large', `The answer to ${target} is larger than ${maxBytes} bytes.`);
}
