import { MemorydError } from '../base/errors.ts';
import type { ClaimedDocument } from '../store/processing.ts';
import type { ExtractInput } from './extract/extracted.ts';
import { typeOfFile } from './extract/type-of-file.ts';
import type { UrlFetcher } from './fetch-url.ts';
import { isPost } from './is-post.ts';
import type { CutDocument } from './text/tasks.ts';

type Read = (input: ExtractInput) => Promise<CutDocument>;

/** Reads what a document holds; an address is fetched first. Throws `MemorydError`. */
export async function readDocument(
  { read, fetcher }: { read: Read; fetcher?: UrlFetcher },
  document: ClaimedDocument,
  signal: AbortSignal,
): Promise<CutDocument> {
  const { kind, raw, bytes, mime_type: mimeType, file_name: name } = document;
  if (kind === 'url') {
    if (!fetcher) throw new MemorydError('fetch_blocked', 'This process fetches no addresses.');
    const page = await fetcher.fetch(raw ?? '', signal);
    const cut = await readFile(read, document, page);
    const isTweet = cut.extracted.type === 'webpage' && isPost(page.url);
    return isTweet ? { ...cut, extracted: { ...cut.extracted, type: 'tweet' } } : cut;
  }
  if (kind !== 'file') return read({ kind: kind as 'text' | 'markdown' | 'html', text: raw ?? '' });
  const file = bytes ?? (raw === null ? null : Buffer.from(raw));
  // The bytes of a synced file are dropped once its text is taken; then only its fields are processed again.
  if (file === null) return read({ kind: 'markdown', text: document.content ?? '' });
  const named = { ...(mimeType === null ? {} : { mimeType }), ...(name === null ? {} : { name }) };
  const cut = await readFile(read, document, { bytes: file, ...named });
  if (unreadTypes.includes(document.type)) {
    throw new MemorydError('unsupported_type', `Taking text from ${document.type} files is not available.`, {
      shouldRetry: false,
    });
  }
  return cut;
}

/** What cannot be read is still known for what it is. */
async function readFile(
  read: Read,
  document: ClaimedDocument,
  file: { bytes: Uint8Array; mimeType?: string; name?: string },
): Promise<CutDocument> {
  try {
    return await read({ kind: 'file', ...file });
  } catch (error) {
    const isGuess = document.kind === 'url' || document.type === 'text';
    if (isGuess) document.type = typeOfFile(file.bytes, file.mimeType, file.name) ?? document.type;
    throw error;
  }
}

/** Types that a caller may say of a file, and that nothing here reads. */
const unreadTypes = ['image', 'audio', 'video'];
