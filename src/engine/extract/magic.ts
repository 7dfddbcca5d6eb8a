import { isUtf8 } from 'node:buffer';

/** A file's format according to its first bytes. */
export interface Magic {
  kind:
    | 'pdf'
    | 'zip'
    | 'gzip'
    | 'ole'
    | 'image'
    | 'audio'
    | 'video'
    | 'archive'
    | 'program'
    | 'font'
    | 'data'
    | 'rich-text';
  /** For people, with its article: "a PNG image". */
  label: string;
}

/** A signature in Latin-1, and where it starts. */
const signatures: readonly (readonly [signature: string, kind: Magic['kind'], label: string, offset?: number])[] = [
  ['%PDF-', 'pdf', 'a PDF file'],
  ['PK\x03\x04', 'zip', 'a ZIP archive'],
  ['PK\x05\x06', 'zip', 'an empty ZIP archive'],
  ['\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1', 'ole', 'an old Office file'],
  ['{\\rtf', 'rich-text', 'an RTF file'],
  ['\x89PNG\r\n\x1a\n', 'image', 'a PNG image'],
  ['\xff\xd8\xff', 'image', 'a JPEG image'],
  ['GIF87a', 'image', 'a GIF image'],
  ['GIF89a', 'image', 'a GIF image'],
  ['II*\0', 'image', 'a TIFF image'],
  ['MM\0*', 'image', 'a TIFF image'],
  ['WEBP', 'image', 'a WebP image', 8],
  ['BM', 'image', 'a BMP image'],
  ['\0\0\x01\0', 'image', 'an icon'],
  ['8BPS', 'image', 'a Photoshop image'],
  ['ftypheic', 'image', 'a HEIC image', 4],
  ['ftypmif1', 'image', 'a HEIF image', 4],
  ['ftypavif', 'image', 'an AVIF image', 4],
  ['ftypM4A', 'audio', 'an M4A recording', 4],
  ['ID3', 'audio', 'an MP3 recording'],
  ['\xff\xfb', 'audio', 'an MP3 recording'],
  ['OggS', 'audio', 'an Ogg recording'],
  ['fLaC', 'audio', 'a FLAC recording'],
  ['WAVE', 'audio', 'a WAV recording', 8],
  ['AVI ', 'video', 'an AVI video', 8],
  ['ftyp', 'video', 'an MP4 video', 4],
  ['\x1aE\xdf\xa3', 'video', 'a WebM video'],
  ['\x1f\x8b', 'gzip', 'a gzip file'],
  ['BZh', 'archive', 'a bzip2 archive'],
  ['\xfd7zXZ\0', 'archive', 'an xz archive'],
  ['7z\xbc\xaf\x27\x1c', 'archive', 'a 7-Zip archive'],
  ['Rar!\x1a\x07', 'archive', 'a RAR archive'],
  ['\x28\xb5\x2f\xfd', 'archive', 'a Zstandard archive'],
  ['ustar', 'archive', 'a tar archive', 257],
  ['\x7fELF', 'program', 'a compiled program'],
  ['MZ', 'program', 'a Windows program'],
  ['\xca\xfe\xba\xbe', 'program', 'a compiled program'],
  ['\xcf\xfa\xed\xfe', 'program', 'a compiled program'],
  ['\0asm', 'program', 'a WebAssembly program'],
  ['wOFF', 'font', 'a font'],
  ['wOF2', 'font', 'a font'],
  ['\0\x01\0\0', 'font', 'a font'],
  ['OTTO', 'font', 'a font'],
  ['SQLite format 3\0', 'data', 'an SQLite database'],
  ['PAR1', 'data', 'a Parquet file'],
];

/** Signatures of letters only could also begin a text; they count when the content is not text. */
const lettersOnly = /^[\x20-\x7e]+$/;

/** The format that the bytes are in, or null. `binary` tells whether the content is known not to be text. */
export function sniffMagic(bytes: Uint8Array, binary: boolean): Magic | null {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 512)).toString('latin1');
  for (const [signature, kind, label, offset = 0] of signatures) {
    if (!head.startsWith(signature, offset)) continue;
    const certain = binary || !lettersOnly.test(signature) || kind === 'pdf' || kind === 'rich-text';
    if (certain) return { kind, label };
  }
  return null;
}

/**
 * NUL bytes or many control characters in what is not UTF-16: not text in any encoding that is read here. A few NUL
 * bytes in what else is UTF-8 are left in notes and logs by crashes and broken tools.
 */
export function isBinary(bytes: Uint8Array): boolean {
  const sample = bytes.subarray(0, 65_536);
  let controls = 0;
  let nuls = 0;
  // An index instead of an iterator: this looks at every byte of every file.
  for (let index = 0; index < sample.length; index++) {
    const byte = sample[index]!;
    if (byte === 0) nuls++;
    // Tab, line feed, form feed, carriage return and escape (colours in logs) stand in texts.
    else if (byte < 0x20 && byte !== 9 && byte !== 10 && byte !== 12 && byte !== 13 && byte !== 27) controls++;
  }
  if (nuls > 0 && (nuls > sample.length / 10 || !isUtf8(bytes))) return true;
  return controls > sample.length / 50;
}
