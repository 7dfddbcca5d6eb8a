export interface TarFile {
  path: string;
  bytes: Uint8Array;
}

const blockBytes = 512;

/**
 * The regular files of a tar archive as `git archive` writes it (POSIX.1-2001: ustar with pax headers).
 * Files over `maxBytes` are passed over.
 */
export async function* readTar(source: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<TarFile> {
  const take = takeFrom(source);
  let longPath: string | undefined;
  for (;;) {
    const header = await take(blockBytes, true);
    if (header[0] === 0) return;
    const size = parseInt(textAt(header, 124, 12), 8);
    const type = String.fromCharCode(header[156]!);
    const padded = Math.ceil(size / blockBytes) * blockBytes;
    const isWanted = type === 'x' || ((type === '0' || type === '\0') && size <= maxBytes);
    const body = await take(padded, isWanted);
    if (type === 'x') {
      longPath = pathIn(body.subarray(0, size));
      continue;
    }
    if (isWanted) yield { path: longPath ?? pathOf(header), bytes: body.subarray(0, size) };
    if (type !== 'g') longPath = undefined;
  }
}

function pathOf(header: Buffer): string {
  const prefix = textAt(header, 345, 155);
  return `${prefix}${prefix === '' ? '' : '/'}${textAt(header, 0, 100)}`;
}

function textAt(header: Buffer, start: number, length: number): string {
  const field = header.subarray(start, start + length);
  const end = field.indexOf(0);
  return field.subarray(0, end < 0 ? length : end).toString('utf8');
}

/** Records of a pax header are `length key=value`, the length being that of the whole record in bytes. */
function pathIn(records: Buffer): string | undefined {
  for (let start = 0; start < records.length;) {
    const space = records.indexOf(' ', start);
    const length = Number(records.toString('latin1', start, space));
    if (!(length > 0)) return undefined;
    const record = records.toString('utf8', space + 1, start + length - 1);
    if (record.startsWith('path=')) return record.slice(5);
    start += length;
  }
  return undefined;
}

/** Takes so many bytes from a stream; those that are not kept are only counted. */
function takeFrom(source: AsyncIterable<Uint8Array>): (count: number, keep: boolean) => Promise<Buffer> {
  const chunks = source[Symbol.asyncIterator]();
  let rest: Uint8Array = new Uint8Array();
  return async (count, keep) => {
    const parts: Uint8Array[] = [];
    for (let missing = count; missing > 0;) {
      if (rest.length === 0) {
        const { value, done } = await chunks.next();
        if (done) throw new Error('The archive ends too early.');
        rest = value;
        continue;
      }
      const part = rest.subarray(0, missing);
      if (keep) parts.push(part);
      missing -= part.length;
      rest = rest.subarray(part.length);
    }
    return Buffer.concat(parts);
  };
}
