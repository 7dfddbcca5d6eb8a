import { MemorydError } from '../../base/errors.ts';
import { isWideText } from './charset.ts';
import { failed, type SourceFormat } from './extracted.ts';
import { formatOfMimeType, formatOfName, languageOfScript, type NamedFormat } from './languages.ts';
import { isBinary, sniffMagic, type Magic } from './magic.ts';
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
  return { ...text, ...(charset ? { charset } : {}) };
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
