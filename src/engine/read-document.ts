import { MemorydError } from '../base/errors.ts';
import type { ClaimedDocument } from '../store/processing.ts';
import type { ExtractInput } from './extract/extracted.ts';
import { typeOfFile } from './extract/type-of-file.ts';
import type { UrlFetcher } from './fetch-url.ts';
import type { Ocr } from './ocr.ts';
import { readWithPictures } from './read-pictures.ts';
import type { CutDocument } from './text/tasks.ts';

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
  const { kind, raw, bytes, mime_type: mimeType, file_name: name } = document;
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
  const named = { ...(mimeType === null ? {} : { mimeType }), ...(name === null ? {} : { name }) };
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
