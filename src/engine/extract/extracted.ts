import { present } from '../../base/collections.ts';
import { MemorydError } from '../../base/errors.ts';
import { readableBytes } from '../../base/readable-bytes.ts';
import type { ChunkFormat } from '../chunk/blocks.ts';
import type { DocumentBody, Metadata, Json } from '../document.ts';

/** Something with text in it: any document body but an address, which has to be fetched first. */
export type ExtractInput = Exclude<DocumentBody, { kind: 'url' }> & {
  /** Where a page was fetched from: links within its own site are navigation and lose their addresses. */
  url?: string;
  /**
   * Texts of the images and scans in a file, in the order in which they are met; null where there is none. What is met
   * beyond them is given back in `Extracted.pictures`. Absent: pictures are not read.
   */
  pictures?: readonly (string | null)[];
  /** UTF-8 bytes that the extracted text may have. Default 8 MiB. */
  maxTextBytes?: number;
};

export const defaultMaxTextBytes = 8 * 1024 * 1024;

export interface Extracted {
  /** The canonical text, Markdown where the source has structure. Never holds U+0000 or lone surrogates; lines end in LF. */
  text: string;
  /** How the text is to be chunked. */
  format: ChunkFormat;
  /** The title in the content itself; null without one (its file name is not used). */
  title: string | null;
  /** The document's type (API section 10.1). */
  type: 'text' | 'pdf' | 'webpage' | 'tweet' | 'image';
  /** `author`, `date` (ISO 8601), `pages`, `language`, `description`, `siteName`, `image`, `tags`; of mail `from`, `to`, `cc`. */
  metadata?: Metadata;
  /** Losses of the extraction, one sentence each. */
  degraded?: string[];
  /** Images and scans in the file whose text was not given. */
  pictures?: Picture[];
}

/** A file that holds no text but a picture of it. */
export interface Picture {
  type: 'image' | 'pdf';
  bytes: Uint8Array;
  /** The type as its sender states it. */
  mimeType?: string;
}

/** The pictures within one file. */
export interface Pictures {
  texts: readonly (string | null)[];
  met: Picture[];
}

/** A file in another one. */
export interface Member {
  bytes: Uint8Array;
  mimeType?: string | undefined;
  name?: string | undefined;
  /** As `Source.depth`. */
  depth: number;
  maxTextBytes: number;
}

/** Reads a member as Markdown that stands below a heading. Throws as `convert`. */
export type ReadMember = (member: Member) => Promise<string>;

/** The format of content, before it is read. */
export type SourceFormat =
  | 'text'
  | 'conversation'
  | 'markdown'
  | 'code'
  | 'csv'
  | 'json'
  | 'json-lines'
  | 'notebook'
  | 'xml'
  | 'feed'
  | 'svg'
  | 'html'
  | 'email'
  | 'pdf'
  | 'docx'
  | 'xlsx'
  | 'pptx'
  | 'opendocument'
  | 'epub'
  | 'gzip'
  | 'zip'
  | 'outlook'
  | 'rich-text'
  | 'manual';

/** Content whose format is known; crosses to the worker threads as it is. */
export interface Source {
  format: SourceFormat;
  /** One of the two: text that was sent as text, or a file. */
  text?: string;
  bytes?: Uint8Array;
  /** Character set that the sender declared. */
  charset?: string;
  /** The language of code. */
  language?: string;
  /** Separates the columns of a table; found by looking when absent. */
  delimiter?: string;
  name?: string;
  url?: string;
  /** A whole page, whose article has to be found between navigation and advertisements. */
  page?: boolean;
  maxTextBytes: number;
  /** Absent: pictures in the file are not read. */
  pictures?: Pictures;
  /** 0 for what was sent, 1 for what is attached to it. */
  depth: number;
}

/** The bytes of a source that is a file, as all are whose format is none of text. */
export function bytesOf({ bytes, format }: Source): Uint8Array {
  if (bytes) return bytes;
  throw failed(`The content is text and cannot be ${format}.`);
}

export function failed(message: string, cause?: unknown): MemorydError {
  return new MemorydError('extract_failed', message, { shouldRetry: false, ...present({ cause }) });
}

const maxTitle = 500;
const maxMetadataText = 1000;
const maxMetadataTexts = 50;

/**
 * Text that PostgreSQL can store (no U+0000, no lone surrogates), with LF line ends and without a
 * byte order mark.
 */
export function cleanText(text: string): string {
  let clean = text;
  if (clean.charCodeAt(0) === 0xfeff) clean = clean.slice(1);
  if (clean.includes('\r')) clean = clean.replace(/\r\n?/g, '\n');
  if (clean.includes('\0')) clean = clean.replaceAll('\0', '');
  return clean.isWellFormed() ? clean : clean.replace(/\p{Surrogate}/gu, '');
}

/** One line of plain text, or null when nothing is left. */
function cleanTitle(title: string | null | undefined): string | null {
  if (!title) return null;
  const line = cleanText(title.slice(0, maxTitle * 4))
    .replace(/\s+/g, ' ')
    .trim();
  return cleanText(line.slice(0, maxTitle)) || null;
}

/** The last step of every extraction. Throws `too_large` when the text is over the limit. */
export function finish(extracted: Extracted, maxTextBytes: number): Extracted {
  const text = cleanText(extracted.text);
  checkSize(Buffer.byteLength(text), maxTextBytes);
  const { metadata, degraded, ...rest } = extracted;
  const fields = cleanMetadata(metadata ?? {});
  return {
    ...rest,
    text,
    title: cleanTitle(extracted.title),
    ...(Object.keys(fields).length > 0 ? { metadata: fields } : {}),
    ...(degraded && degraded.length > 0 ? { degraded: [...new Set(degraded)] } : {}),
  };
}

export function checkSize(bytes: number, maxTextBytes: number): void {
  if (bytes <= maxTextBytes) return;
  throw new MemorydError(
    'too_large',
    `The text has more than ${readableBytes(maxTextBytes)}, the most that is taken from one document.`,
    { shouldRetry: false },
  );
}

function cleanMetadata(metadata: Metadata): Metadata {
  const fields: Metadata = {};
  for (const [key, value] of Object.entries(metadata)) {
    const clean = cleanValue(value);
    if (clean !== '' && !(Array.isArray(clean) && clean.length === 0)) fields[key] = clean;
  }
  return fields;
}

function cleanValue(value: Json): Json {
  if (typeof value === 'string') return shorten(value);
  return Array.isArray(value) ? value.slice(0, maxMetadataTexts).map(cleanValue).filter(Boolean) : value;
}

function shorten(value: string): string {
  return cleanText(cleanText(value).trim().slice(0, maxMetadataText));
}
