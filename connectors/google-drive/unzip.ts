import { inflateRawSync } from 'node:zlib';

const endSignature = 0x06054b50;
const entrySignature = 0x02014b50;
const endBytes = 22;
const entryBytes = 46;
const localBytes = 30;
/** What a small file may grow to when it is unpacked. */
const maxUnpackedBytes = 100 * 1024 * 1024;

/**
 * Files of a ZIP archive by name, those that are `wanted`, in the order of its directory (APPNOTE 6.3, stored or
 * deflated, without ZIP64: exports are small). Throws when it is none.
 */
export function unzip(bytes: Uint8Array, wanted: (name: string) => boolean): Map<string, Buffer> {
  const archive = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = archive.lastIndexOf(Buffer.from([0x50, 0x4b, 0x05, 0x06]));
  if (end < 0 || end + endBytes > archive.length || archive.readUInt32LE(end) !== endSignature) {
    throw new Error('The archive has no directory.');
  }
  const files = new Map<string, Buffer>();
  let left = maxUnpackedBytes;
  let at = archive.readUInt32LE(end + 16);
  for (let count = archive.readUInt16LE(end + 10); count > 0; count--) {
    if (archive.readUInt32LE(at) !== entrySignature) throw new Error('The directory of the archive is damaged.');
    const nameLength = archive.readUInt16LE(at + 28);
    const name = archive.toString('utf8', at + entryBytes, at + entryBytes + nameLength);
    if (wanted(name)) {
      const file = readEntry(archive, at, left);
      left -= file.length;
      files.set(name, file);
    }
    at += entryBytes + nameLength + archive.readUInt16LE(at + 30) + archive.readUInt16LE(at + 32);
  }
  return files;
}

/** Sizes stand in the directory: those before the content may be left open. */
function readEntry(archive: Buffer, at: number, maxOutputLength: number): Buffer {
  const method = archive.readUInt16LE(at + 10);
  const packedLength = archive.readUInt32LE(at + 20);
  const local = archive.readUInt32LE(at + 42);
  const start = local + localBytes + archive.readUInt16LE(local + 26) + archive.readUInt16LE(local + 28);
  const packed = archive.subarray(start, start + packedLength);
  if (method === 0) return packed;
  if (method !== 8) throw new Error(`The archive is packed by the method ${method}, which is not read.`);
  return inflateRawSync(packed, { maxOutputLength });
}
