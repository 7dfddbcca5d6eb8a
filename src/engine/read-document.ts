import { present } from '../base/collections.ts';
import { MemorydError } from '../base/errors.ts';
import type { ClaimedDocument } from '../store/processing.ts';
import type { ExtractInput, Extracted, Picture } from './extract/extracted.ts';
import { typeOfFile, detect } from './extract/detect.ts';
import type { UrlFetcher } from './fetch-url.ts';
import { type Ocr, mayReadLater } from './ocr.ts';
import type { CutDocument } from './text/text-worker.ts';
import type { Extractor } from './text/text-work.ts';
import type { DocumentBody } from './document.ts';

interface Reading {
  read(input: ExtractInput): Promise<CutDocument>;
  fetcher?: UrlFetcher;
  ocr?: Ocr | null;
}

interface ReadFile {
  bytes: Uint8Array;
  mimeType?: string;
  name?: string;
}

/** Reads what a document holds; an address is fetched first. Throws `MemorydError`. */
export async function readDocument(
  reading: Reading,
  document: ClaimedDocument,
  signal: AbortSignal,
): Promise<CutDocument> {
  const { read, fetcher } = reading;
  const { kind, raw, bytes, mimeType, fileName: name } = document;
  if (kind === 'url') {
    if (!fetcher) throw new MemorydError('fetch_blocked', 'This process fetches no addresses.');
    const page = await fetcher.fetch(raw ?? '', signal);
    const cut = await readFile(reading, document, page, signal);
    const isTweet = cut.extracted.type === 'webpage' && isPost(page.url);
    return isTweet ? { ...cut, extracted: { ...cut.extracted, type: 'tweet' } } : cut;
  }
  if (kind !== 'file') return read({ kind: kind as 'text' | 'markdown' | 'html', text: raw ?? '' });
  const file = bytes ?? (raw === null ? null : Buffer.from(raw));
  // The bytes of a synced file are dropped once its text is taken; then only its fields are processed again.
  if (file === null) return read({ kind: 'markdown', text: document.content ?? '' });
  const named = present({ mimeType: mimeType ?? undefined, name: name ?? undefined });
  return readFile(reading, document, { bytes: file, ...named }, signal);
}

/** Reads a file. One that cannot be read still gets its type. */
async function readFile(
  { read, ocr }: Reading,
  document: ClaimedDocument,
  file: ReadFile,
  signal: AbortSignal,
): Promise<CutDocument> {
  try {
    const extractedOf = (cut: CutDocument) => cut.extracted;
    const cut = await readWithPictures({ read, extractedOf, ocr }, { kind: 'file', ...file }, signal);
    const isPicture = cut.extracted.type === 'image' || cut.extracted.type === 'pdf';
    if (document.kind === 'file' && unreadTypes.includes(document.type) && !isPicture) throw unreadType(document.type);
    return cut;
  } catch (error) {
    const isGuess = document.kind === 'url' || document.type === 'text';
    if (isGuess) document.type = typeOfFile(file.bytes, file.mimeType, file.name) ?? document.type;
    throw error;
  }
}

/** Types that a caller may say of a file, and that nothing here reads. */
const unreadTypes = ['image', 'audio', 'video'];

function unreadType(type: string): MemorydError {
  return new MemorydError('unsupported_type', `Taking text from ${type} files is not available.`, {
    shouldRetry: false,
  });
}

const post = /^(?:(?:www|mobile)\.)?(?:twitter|x)\.com$/;

/** Whether an address is that of a post, which documents call a tweet (section 10.1 of the API). */
export function isPost(address: string): boolean {
  const url = URL.parse(address);
  return url !== null && post.test(url.hostname) && /^\/[^/]+\/status\/\d+/.test(url.pathname);
}

interface PictureReading<Read> {
  read(input: ExtractInput): Promise<Read>;
  extractedOf(read: Read): Extracted;
  /** Absent or null: nobody reads pictures. */
  ocr?: Ocr | null | undefined;
}

/**
 * Reads content; where it is an image or a scan, or holds some, OCR reads these. Throws as `read` and `Ocr.read`;
 * a picture within a file that OCR refuses leaves the rest of the file readable.
 */
async function readWithPictures<Read>(
  { read, extractedOf, ocr }: PictureReading<Read>,
  input: ExtractInput,
  signal: AbortSignal,
): Promise<Read> {
  if (!ocr || input.kind !== 'file') return read(input);
  try {
    const found = await read({ ...input, pictures: [] });
    const { pictures = [] } = extractedOf(found);
    if (pictures.length === 0) return found;
    const texts: (string | null)[] = [];
    for (const picture of pictures) texts.push(await textIn(ocr, picture, signal));
    return await read({ ...input, pictures: texts });
  } catch (error) {
    const type = typeOfFile(input.bytes, input.mimeType, input.name);
    const isPicture = type === 'image' || type === 'pdf';
    if (!isPicture || !MemorydError.is(error) || error.code !== 'unsupported_type') throw error;
    const text = await ocr.read({ bytes: input.bytes, mimeType: pictureType(type, input.mimeType) }, signal);
    const found = await read({ kind: 'text', text });
    extractedOf(found).type = type;
    return found;
  }
}

/** Null when another attempt would not read it either. */
async function textIn(ocr: Ocr, { bytes, type, mimeType }: Picture, signal: AbortSignal): Promise<string | null> {
  try {
    return await ocr.read({ bytes, mimeType: pictureType(type, mimeType) }, signal);
  } catch (error) {
    if (!MemorydError.is(error) || mayReadLater(error)) throw error;
    return null;
  }
}

/** The MIME type that the sender stated; an OCR server tells images apart by their content. */
function pictureType(type: Picture['type'], mimeType = ''): string {
  if (type === 'pdf') return 'application/pdf';
  return /^image\/[\w.+-]+$/.test(mimeType) ? mimeType : 'application/octet-stream';
}

/** An extractor that also reads pictures. */
export function withPictures(extractor: Extractor, ocr: Ocr | null): Extractor {
  return {
    readsPictures: ocr !== null,
    extract(input, options = {}) {
      const read = (one: ExtractInput) => extractor.extract(one, options);
      const signal = options.signal ?? new AbortController().signal;
      return readWithPictures({ read, extractedOf: (found) => found, ocr }, input, signal);
    },
  };
}

/**
 * Why no text can be taken from a content, told by its first bytes; null when it is worth reading.
 * Lets a mirror leave out what it could only store in vain. `readsPictures`: images have text as well.
 */
export function refusalOf(body: DocumentBody, readsPictures = false): string | null {
  if (body.kind !== 'file') return null;
  try {
    detect(body.bytes, body.mimeType, body.name);
    return null;
  } catch (error) {
    if (!MemorydError.is(error)) throw error;
    return readsPictures && typeOfFile(body.bytes, body.mimeType, body.name) === 'image' ? null : error.message;
  }
}

const picture = /^image\/(?!svg)/;

const unreadable = /^(?:audio|video|font)\/|^application\/(?:x-7z-compressed|x-tar|vnd\.rar|java-archive)/;

/** The same by the declared type alone, before anything is downloaded. */
export function refusalOfType(mimeType: string | undefined, readsPictures = false): string | null {
  if (mimeType === undefined) return null;
  const isUnreadable = unreadable.test(mimeType) || (!readsPictures && picture.test(mimeType));
  return isUnreadable ? `No text can be taken from ${mimeType}.` : null;
}
