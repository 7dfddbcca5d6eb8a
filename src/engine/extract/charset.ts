import { TextDecoder } from 'node:util';
import { firstOf } from '../../base/collections.ts';

/** Bytes as text, and what had to be guessed. */
export interface Decoded {
  text: string;
  charset: string;
  degraded?: string;
}

/** Names in use that the Encoding Standard does not list. */
const aliases: Record<string, string> = {
  cp932: 'shift_jis',
  cp936: 'gb18030',
  cp949: 'euc-kr',
  cp950: 'big5',
  utf8mb4: 'utf-8',
};

const sampleSize = 65_536;
const replaced = 'Some bytes are not valid UTF-8 and were replaced.';

/**
 * Decodes a text file: byte order mark, then valid UTF-8, then the declared character set, then a
 * guess by the byte patterns of the common legacy encodings, with windows-1252 as the last.
 */
export function decodeText(bytes: Uint8Array, declared?: string): Decoded {
  const marked = charsetOfMark(bytes) ?? charsetOfWideText(bytes);
  if (marked !== null) return { text: decode(bytes, marked), charset: marked };
  const utf8 = decodeStrictly(bytes, 'utf-8');
  // ISO-2022-JP is plain ASCII to the eye; only its declaration tells.
  const japanese = declared !== undefined && /^iso-2022-jp/i.test(declared);
  if (utf8 !== null && !japanese) return { text: utf8, charset: 'utf-8' };
  const halves = decodeHalves(bytes);
  if (halves !== null)
    return { text: halves.toWellFormed(), charset: 'utf-8', ...(halves.isWellFormed() ? {} : { degraded: replaced }) };
  const known = declared === undefined ? null : decodeStrictly(bytes, declared);
  if (known !== null) return { text: known, charset: normalize(declared!) };
  if (isMostlyUtf8(bytes)) return { text: decode(bytes, 'utf-8'), charset: 'utf-8', degraded: replaced };
  const charset = guess(bytes);
  return { text: decode(bytes, charset), charset, degraded: `The character set is not declared; read as ${charset}.` };
}

/** The character set that an HTML page or XML file declares in its first bytes. */
export function declaredCharset(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 4096)).toString('latin1');
  const xml = /^\s*<\?xml[^>]{0,200}\bencoding\s*=\s*["']([\w.:-]+)/i.exec(head);
  return (xml ?? /<meta[^>]{0,200}\bcharset\s*=\s*["']?\s*([\w.:-]+)/i.exec(head))?.[1];
}

/** Whether the bytes are UTF-16, whose text is full of NUL bytes. */
export function isWideText(bytes: Uint8Array): boolean {
  return (charsetOfMark(bytes) ?? charsetOfWideText(bytes))?.startsWith('utf-16') ?? false;
}

function charsetOfMark(bytes: Uint8Array): string | null {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return 'utf-8';
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  return bytes[0] === 0xfe && bytes[1] === 0xff ? 'utf-16be' : null;
}

/** UTF-16 without a mark: in most texts every second byte of many is NUL, and never the other one. */
function charsetOfWideText(bytes: Uint8Array): string | null {
  const sample = bytes.subarray(0, 4096);
  if (sample.length < 4 || bytes.length % 2 !== 0) return null;
  if (!sample.includes(0)) return null;
  const nulls = [0, 0];
  for (const [index, byte] of sample.entries()) if (byte === 0) nulls[index % 2]!++;
  const least = sample.length / 5;
  if (nulls[1]! > least && nulls[0] === 0) return 'utf-16le';
  return firstOf(nulls) > least && nulls[1] === 0 ? 'utf-16be' : null;
}

function normalize(charset: string): string {
  const name = charset.trim().toLowerCase();
  return aliases[name] ?? name;
}

/** The encoding of a code page as Windows numbers it; windows-1252 for an unknown one. */
export function decoderOfCodePage(number: number): TextDecoder {
  const name = number === 65_001 ? 'utf-8' : (aliases[`cp${number}`] ?? `windows-${number}`);
  try {
    return new TextDecoder(name);
  } catch {
    return new TextDecoder('windows-1252');
  }
}

function decode(bytes: Uint8Array, charset: string): string {
  return new TextDecoder(charset).decode(bytes);
}

/** Null when the character set is unknown or the bytes are not valid in it. */
function decodeStrictly(bytes: Uint8Array, charset: string): string | null {
  try {
    return new TextDecoder(normalize(charset), { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

const encodedHalf = /(\xed[\xa0-\xbf][\x80-\xbf])/;

/**
 * UTF-8 in which halves of characters are encoded one by one, as some databases and Java write it ("CESU-8", Unicode
 * Technical Report 26): two that belong together become a character. Null when it is not that.
 */
function decodeHalves(bytes: Uint8Array): string | null {
  if (!bytes.includes(0xed)) return null;
  const parts = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1').split(encodedHalf);
  if (parts.length === 1) return null;
  const decoded = parts.map((part, place) =>
    place % 2 === 0
      ? decodeStrictly(Buffer.from(part, 'latin1'), 'utf-8')
      : String.fromCharCode(0xd000 | ((part.charCodeAt(1) & 0x3f) << 6) | (part.charCodeAt(2) & 0x3f)),
  );
  return decoded.includes(null) ? null : decoded.join('');
}

/** A few damaged bytes in a long text: better replaced than all of it misread. */
function isMostlyUtf8(bytes: Uint8Array): boolean {
  const text = decode(bytes.subarray(0, sampleSize), 'utf-8');
  let good = 0;
  let bad = 0;
  for (const character of text) {
    if (character === '\ufffd') bad++;
    else if (character > '\x7f') good++;
  }
  return good > bad * 4;
}

/** How a double-byte encoding looks: its lead bytes of common characters, and what its second bytes are. */
interface Pattern {
  charset: string;
  isCommon(lead: number, trail: number): boolean;
  /** The share of pairs that have to be common. */
  least: number;
}

const isHigh = (byte: number) => byte >= 0xa1 && byte <= 0xfe;

const patterns: readonly Pattern[] = [
  // Kana and the first level of kanji.
  {
    charset: 'shift_jis',
    least: 0.8,
    isCommon: (lead) => (lead >= 0x81 && lead <= 0x84) || (lead >= 0x88 && lead <= 0x98),
  },
  // Hangul syllables stand in fewer rows than the Chinese characters of GB 2312, Japanese kana in two rows of their own.
  {
    charset: 'euc-kr',
    least: 0.95,
    isCommon: (lead, trail) => isHigh(trail) && ((lead >= 0xa1 && lead <= 0xa3) || (lead >= 0xb0 && lead <= 0xc8)),
  },
  {
    charset: 'gb18030',
    least: 0.85,
    isCommon: (lead, trail) => isHigh(trail) && ((lead >= 0xa1 && lead <= 0xa3) || (lead >= 0xb0 && lead <= 0xd7)),
  },
  {
    charset: 'euc-jp',
    least: 0.85,
    isCommon: (lead, trail) => isHigh(trail) && ((lead >= 0xa1 && lead <= 0xa5) || (lead >= 0xb0 && lead <= 0xcf)),
  },
  { charset: 'big5', least: 0.85, isCommon: (lead) => lead >= 0xa1 && lead <= 0xc6 },
];

function guess(bytes: Uint8Array): string {
  const sample = bytes.subarray(0, sampleSize);
  const letters = count(sample, (byte) => (byte >= 0x41 && byte <= 0x5a) || (byte >= 0x61 && byte <= 0x7a));
  const high = count(sample, (byte) => byte >= 0x80);
  // In texts of Latin letters the accented ones are few.
  if (high < (letters + high) * 0.3) return 'windows-1252';
  const found = patterns.find((pattern) => matches(sample, pattern) && decodeStrictly(bytes, pattern.charset) !== null);
  if (found) return found.charset;
  const accented = count(sample, (byte) => byte >= 0xc0);
  if (accented < letters) return 'windows-1252';
  const upper = count(sample, (byte) => byte >= 0xc0 && byte < 0xe0);
  const lower = count(sample, (byte) => byte >= 0xe0);
  // Cyrillic: small letters are the upper half of windows-1251 and the lower half of KOI8-R.
  return upper > lower * 2 ? 'koi8-r' : 'windows-1251';
}

function count(bytes: Uint8Array, is: (byte: number) => boolean): number {
  let found = 0;
  for (const byte of bytes) if (is(byte)) found++;
  return found;
}

function matches(sample: Uint8Array, { charset, isCommon, least }: Pattern): boolean {
  let pairs = 0;
  let common = 0;
  let kana = 0;
  for (let index = 0; index + 1 < sample.length; index++) {
    const lead = sample[index]!;
    if (lead < 0x80) continue;
    // Half-width katakana are single bytes.
    if (charset === 'shift_jis' && lead >= 0xa1 && lead <= 0xdf) continue;
    pairs++;
    if (isCommon(lead, sample[index + 1]!)) common++;
    if (lead === 0xa4 || lead === 0xa5) kana++;
    index++;
  }
  if (charset === 'euc-jp' && kana < pairs * 0.1) return false;
  return pairs > 0 && common >= pairs * least;
}
