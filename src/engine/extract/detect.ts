import { present } from '../../base/collections.ts';
import { isUtf8 } from 'node:buffer';
import { MemorydError } from '../../base/errors.ts';
import { isWideText } from './charset.ts';
import { failed, type SourceFormat } from './extracted.ts';
import { formatOfMimeType, formatOfName, languageOfScript, type NamedFormat } from './languages.ts';
import { readZip } from './parts.ts';

export interface Detected extends NamedFormat {
  charset?: string;
}

const sampleSize = 4096;
const htmlStart = /^\s*(?:<!--[^]{0,2000}?-->\s*)?<(?:!doctype\s+html|html[\s>])/i;
const mailHeader =
  /^(?:return-path|received|delivered-to|from|to|date|subject|message-id|mime-version|x-[\w-]+|dkim-signature|content-type|reply-to):/i;

/**
 * Detects a file's format by its content first, then by its MIME type, then by its name.
 * Throws `unsupported_type` when no text can be taken from it, `extract_failed` when it is damaged,
 * encrypted, or not what it is said to be.
 */
export function detect(bytes: Uint8Array, mimeType?: string, name?: string): Detected {
  const [type = '', ...parameters] = (mimeType ?? '')
    .toLowerCase()
    .split(';')
    .map((part) => part.trim());
  const charset = parameters
    .find((part) => part.startsWith('charset='))
    ?.slice(8)
    .replace(/["']/g, '');
  const binary = !isWideText(bytes) && isBinary(bytes);
  const declared = formatOfMimeType(type) ?? formatOfName(name);
  const magic = sniffMagic(bytes, binary);
  if (magic) return { format: formatOfMagic(magic, bytes, declared) };
  if (binary) return refuseBinary(declared, bytes);
  const text = textFormat(sampleOf(bytes), formatOfMimeType(type), formatOfName(name));
  if (isPacked(text.format)) throw notWhatItSays(text.format);
  return { ...text, ...present({ charset: charset || undefined }) };
}

function sampleOf(bytes: Uint8Array): string {
  const head = bytes.subarray(0, sampleSize);
  return new TextDecoder(
    isWideText(bytes) ? (bytes[0] === 0xfe || bytes[0] === 0 ? 'utf-16be' : 'utf-16le') : 'utf-8',
  ).decode(head);
}

function formatOfMagic(magic: Magic, bytes: Uint8Array, declared: NamedFormat | undefined): SourceFormat {
  if (magic.kind === 'pdf') return 'pdf';
  if (magic.kind === 'gzip') return 'gzip';
  if (magic.kind === 'zip') return formatOfZip(bytes, declared);
  if (magic.kind === 'ole') return formatOfOle(bytes, declared);
  if (magic.kind === 'rich-text') return 'rich-text';
  throw refuse(magic);
}

/** How a refusal goes on after naming what the file is. */
const reasons: Partial<Record<Magic['kind'], string>> = {
  image: 'reading text in images is not available',
  audio: 'transcribing recordings is not available',
  video: 'transcribing recordings is not available',
  archive: 'such archives are not unpacked; add the files that are in it',
};

function refuse(magic: Magic): MemorydError {
  return unsupported(`This is ${magic.label}: ${reasons[magic.kind] ?? 'it holds no text that can be read'}.`);
}

function unsupported(message: string): MemorydError {
  return new MemorydError('unsupported_type', message, { shouldRetry: false });
}

/** Formats that are no text as they lie there, as people call them. */
const packed = {
  pdf: 'a PDF',
  docx: 'a Word document',
  xlsx: 'an Excel workbook',
  pptx: 'a PowerPoint presentation',
  opendocument: 'an OpenDocument file',
  epub: 'an EPUB book',
  gzip: 'a gzip file',
  zip: 'a ZIP archive',
  outlook: 'an Outlook message',
  'rich-text': 'an RTF file',
} as const;

function isPacked(format: SourceFormat | undefined): format is keyof typeof packed {
  return format !== undefined && Object.hasOwn(packed, format);
}

function notWhatItSays(format: keyof typeof packed): MemorydError {
  return failed(`The file says it is ${packed[format]}, but its content is something else.`);
}

function refuseBinary(declared: NamedFormat | undefined, bytes: Uint8Array): Detected {
  // Some PDF files have other bytes before their header.
  if (declared?.format === 'pdf' && Buffer.from(bytes.subarray(0, 1024)).includes('%PDF-')) return { format: 'pdf' };
  if (isPacked(declared?.format)) throw notWhatItSays(declared.format);
  throw unsupported('The content is binary data of an unknown kind, not text, whatever its name says.');
}

function formatOfZip(bytes: Uint8Array, declared: NamedFormat | undefined): SourceFormat {
  const names = (readZip(bytes) ?? []).map((entry) => entry.name);
  const known = packedFormats.find(([start]) => names.some((entry) => entry.startsWith(start)));
  if (known) return known[1];
  if (names.length === 0 && isPacked(declared?.format) && declared.format !== 'zip')
    throw failed(`The file is ${packed[declared.format]} that is damaged: its ZIP directory is missing.`);
  return 'zip';
}

/** By parts that only they have; OpenDocument and EPUB files last, because others may hold files of these names. */
const packedFormats: readonly (readonly [start: string, format: SourceFormat])[] = [
  ['word/', 'docx'],
  ['xl/', 'xlsx'],
  ['ppt/', 'pptx'],
  ['META-INF/container.xml', 'epub'],
  ['content.xml', 'opendocument'],
];

/** Old Office files, and the new ones when they are encrypted, share one container, whose streams have names in UTF-16. */
function formatOfOle(bytes: Uint8Array, declared: NamedFormat | undefined): 'outlook' {
  const content = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const holds = (stream: string) => content.includes(Buffer.from(stream, 'utf16le'));
  const isMessage = holds('__substg1.0_');
  // A message may have old Office files attached, and they may have messages in them.
  if (isMessage && declared?.format === 'outlook') return 'outlook';
  if (holds('EncryptedPackage')) throw failed('The document is protected by a password.');
  if (holds('WordDocument')) throw unsupported('This is an old Word document: save it as .docx.');
  if (holds('Workbook') || holds('Book')) throw unsupported('This is an old Excel workbook: save it as .xlsx.');
  if (holds('PowerPoint Document')) throw unsupported('This is an old PowerPoint presentation: save it as .pptx.');
  if (isMessage) return 'outlook';
  throw unsupported('This is an old Office file: save it in a current format.');
}

function textFormat(sample: string, byMimeType: NamedFormat | undefined, byName: NamedFormat | undefined): NamedFormat {
  const named = byMimeType ?? byName;
  if (named === undefined || named.format === 'text') return sniffText(sample, named === undefined);
  // A page that says it is a PDF file is the error page of a server.
  if (isPacked(named.format) && isHtmlPage(sample)) return { format: 'html' };
  if (
    named.format === 'json' &&
    (byName?.format === 'notebook' || /"nbformat"|"cells"\s*:\s*\[\s*\{\s*"cell_type"/.test(sample))
  ) {
    return { format: 'notebook' };
  }
  return named.format === 'xml' ? { format: formatOfXml(sample) } : named;
}

function sniffText(sample: string, unnamed: boolean): NamedFormat {
  if (isHtmlPage(sample)) return { format: 'html' };
  if (isManualPage(sample)) return { format: 'manual' };
  if (!unnamed) return { format: 'text' };
  if (/^\s*<\?xml\s/.test(sample)) return { format: formatOfXml(sample) };
  if (isMail(sample)) return { format: 'email' };
  const language = languageOfScript(sample);
  return language === undefined ? { format: 'text' } : { format: 'code', language };
}

export function isHtmlPage(text: string): boolean {
  return htmlStart.test(text.slice(0, sampleSize));
}

function formatOfXml(sample: string): 'feed' | 'svg' | 'html' | 'xml' {
  const root = /<([a-z][\w:.-]*)/i.exec(sample.replace(/<!--[^]*?(?:-->|$)/g, ''))?.[1]?.toLowerCase();
  if (root === 'rss' || root === 'feed' || root === 'rdf:rdf') return 'feed';
  return root === 'svg' || root === 'html' ? root : 'xml';
}

/** A mail without a telling name, as in maildir folders: it begins with header lines that only mail has. */
function isMail(sample: string): boolean {
  const lines = sample.split(/\r?\n/).filter((line) => !/^[ \t]/.test(line));
  const headers = lines.slice(0, Math.max(lines.indexOf(''), 0));
  const known = headers.filter((line) => mailHeader.test(line));
  return known.length >= 3 && known.length >= headers.length / 2 && known.some((line) => /^from:/i.test(line));
}

/** A page of the manual: it begins with a comment or a request of roff, and has what pages in man(7) or mdoc(7) have. */
function isManualPage(sample: string): boolean {
  return (
    /^\s*[.'](?:\\["#]|[ \t]*\n|[ \t]*(?:TH|Dd|Dt|so|de|ds|ie|if|ig|nr|lf|TS|ad|hy|nh)\b)/.test(sample) &&
    /^[.'][ \t]*(?:TH|Dd|Dt|SH|Sh|so|de|ie|if) *\S/m.test(sample)
  );
}

/** Types of files that hold no text, as documents name them. */
export type MediaType = 'pdf' | 'image' | 'audio' | 'video';

const mediaTypes: readonly string[] = ['pdf', 'image', 'audio', 'video'] satisfies MediaType[];

const extensions: Record<MediaType, RegExp> = {
  pdf: /\.pdf$/i,
  image: /\.(?:png|jpe?g|gif|webp|tiff?|bmp|ico|heic|heif|avif)$/i,
  audio: /\.(?:mp3|wav|m4a|ogg|oga|flac|aac|opus)$/i,
  video: /\.(?:mp4|m4v|mov|webm|avi|mkv)$/i,
};

/**
 * By the content, then by the MIME type, then by the name (section 10.1 of the API). Undefined for
 * everything else; text is never a recording, whatever its sender calls it: browsers say video/mp2t of TypeScript.
 */
export function typeOfFile(bytes: Uint8Array, mimeType?: string, name = ''): MediaType | undefined {
  const binary = !isWideText(bytes) && isBinary(bytes);
  const kind = sniffMagic(bytes, binary)?.kind;
  if (kind !== undefined) return mediaTypes.includes(kind) ? (kind as MediaType) : undefined;
  if (!binary) return undefined;
  const [, declared = ''] = /^(?:application\/)?(pdf|image|audio|video)(?:[/;]|$)/i.exec(mimeType ?? '') ?? [];
  if (declared !== '') return declared.toLowerCase() as MediaType;
  return (Object.keys(extensions) as MediaType[]).find((type) => extensions[type].test(name));
}

/** A file's format according to its first bytes. */
interface Magic {
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
function sniffMagic(bytes: Uint8Array, binary: boolean): Magic | null {
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
function isBinary(bytes: Uint8Array): boolean {
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
