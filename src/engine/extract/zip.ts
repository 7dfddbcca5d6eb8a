import { inflateRawSync } from 'node:zlib';

export interface ZipEntry {
  name: string;
  method: number;
  compressedSize: number;
  /** Offset of the local header. */
  offset: number;
}

const endSignature = 0x06054b50;
const entrySignature = 0x02014b50;
const maxComment = 65_535;
const maxEntries = 20_000;

/** The directory of a ZIP archive (APPNOTE 4.3), or null when it has none that can be read. */
export function readZip(bytes: Uint8Array): ZipEntry[] | null {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const end = findEnd(view);
  if (end < 0) return null;
  const entries: ZipEntry[] = [];
  let offset = view.readUInt32LE(end + 16);
  const count = Math.min(view.readUInt16LE(end + 10), maxEntries);
  while (entries.length < count && offset + 46 <= view.length && view.readUInt32LE(offset) === entrySignature) {
    const nameLength = view.readUInt16LE(offset + 28);
    entries.push({
      name: view.toString('utf8', offset + 46, offset + 46 + nameLength),
      method: view.readUInt16LE(offset + 10),
      compressedSize: view.readUInt32LE(offset + 20),
      offset: view.readUInt32LE(offset + 42),
    });
    offset += 46 + nameLength + view.readUInt16LE(offset + 30) + view.readUInt16LE(offset + 32);
  }
  return entries;
}

function findEnd(view: Buffer): number {
  const lowest = Math.max(0, view.length - 22 - maxComment);
  for (let offset = view.length - 22; offset >= lowest; offset--) {
    if (view.readUInt32LE(offset) === endSignature) return offset;
  }
  return -1;
}

/** The bytes of an entry. Throws when it is damaged, or unpacks to more than `maxBytes`. */
export function inflateEntry(bytes: Uint8Array, entry: ZipEntry, maxBytes: number): Uint8Array {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const start = entry.offset + 30 + view.readUInt16LE(entry.offset + 26) + view.readUInt16LE(entry.offset + 28);
  const packed = view.subarray(start, start + entry.compressedSize);
  return entry.method === 0 ? packed : inflateRawSync(packed, { maxOutputLength: Math.max(1, maxBytes) });
}
