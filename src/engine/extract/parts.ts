import { inflateRawSync } from 'node:zlib';
import { failed } from './extracted.ts';

/** The files in a document that is a ZIP archive: Office, OpenDocument, EPUB. */
export interface Parts {
  names: readonly string[];
  /** Null when there is no such part. */
  bytes(name: string): Uint8Array | null;
  /** Decodes UTF-8 or UTF-16, the encodings of XML. */
  text(name: string): string | null;
}

/** A document whose parts unpack to more is over any limit, or made to fill the memory. */
const maxUnpackedBytes = 64 * 1024 * 1024;

/** Throws `extract_failed` when the archive, or a part that is asked for, is damaged or too large. `label`: "Word document". */
export function openParts(bytes: Uint8Array, label: string): Parts {
  const entries = readZip(bytes);
  if (!entries) throw failed(`The ${label} is damaged: its ZIP directory is missing.`);
  const byName = new Map(entries.map((entry) => [entry.name, entry]));
  let left = maxUnpackedBytes;

  function unpack(name: string): Uint8Array | null {
    const entry = byName.get(name);
    if (!entry) return null;
    try {
      const unpacked = inflateEntry(bytes, entry, left);
      left -= unpacked.length;
      if (left < 0) throw tooLarge(label);
      return unpacked;
    } catch (error) {
      const isBomb = error instanceof RangeError && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
      if (isBomb || left < 0) throw tooLarge(label, error);
      throw failed(`The ${label} is damaged: one of its parts cannot be unpacked.`, error);
    }
  }

  return {
    names: [...byName.keys()],
    bytes: unpack,
    text(name) {
      const found = unpack(name);
      if (found === null) return null;
      const isWide = (found[0] === 0xff && found[1] === 0xfe) || (found[0] === 0xfe && found[1] === 0xff);
      return new TextDecoder(isWide ? (found[0] === 0xff ? 'utf-16le' : 'utf-16be') : 'utf-8').decode(found);
    },
  };
}

function tooLarge(label: string, cause?: unknown) {
  return failed(`The ${label} unpacks to more than ${maxUnpackedBytes >> 20} MiB.`, cause);
}

/** Where a part's relations lead, by their ids (ECMA-376 part 2, 9.3): full names of parts. */
export function relationsOf(parts: Parts, name: string): Map<string, string> {
  const folder = name.slice(0, name.lastIndexOf('/') + 1);
  const xml = parts.text(`${folder}_rels/${name.slice(folder.length)}.rels`) ?? '';
  const found = new Map<string, string>();
  for (const [tag] of xml.matchAll(/<Relationship\s[^<>]*>/g)) {
    const [id, target] = [attributeOf(tag, 'Id'), attributeOf(tag, 'Target')];
    if (id !== null && target !== null) found.set(id, resolvePart(folder, target));
  }
  return found;
}

function attributeOf(tag: string, name: string): string | null {
  return new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1] ?? null;
}

/** A target relative to a folder, as the name of a part. */
export function resolvePart(folder: string, target: string): string {
  const steps = (target.startsWith('/') ? target.slice(1) : folder + target).split('/');
  const kept: string[] = [];
  for (const step of steps) {
    if (step === '..') kept.pop();
    else if (step !== '.' && step !== '') kept.push(step);
  }
  return kept.join('/');
}

interface ZipEntry {
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
function inflateEntry(bytes: Uint8Array, entry: ZipEntry, maxBytes: number): Uint8Array {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const start = entry.offset + 30 + view.readUInt16LE(entry.offset + 26) + view.readUInt16LE(entry.offset + 28);
  const packed = view.subarray(start, start + entry.compressedSize);
  return entry.method === 0 ? packed : inflateRawSync(packed, { maxOutputLength: Math.max(1, maxBytes) });
}
