import { MemorydError } from '../base/errors.ts';
import type { ClaimedDocument } from '../store/processing.ts';
import type { Extracted } from './extract/extracted.ts';
import type { Extractor } from './extract/extractor.ts';
import { typeOfFile } from './extract/type-of-file.ts';
import type { UrlFetcher } from './fetch-url.ts';
import { isPost } from './is-post.ts';

/** Takes the text of what a document holds; an address is fetched first. Throws `MemorydError`. */
export async function extractDocument(
  { extractor, fetcher }: { extractor: Extractor; fetcher?: UrlFetcher },
  document: ClaimedDocument,
  signal: AbortSignal,
): Promise<Extracted> {
  const { kind, raw, bytes, mime_type: mimeType, file_name: name } = document;
  if (kind === 'url') {
    if (!fetcher) throw new MemorydError('fetch_blocked', 'This process fetches no addresses.');
    const page = await fetcher.fetch(raw ?? '', signal);
    const extracted = await extractFile(extractor, document, page, signal);
    return extracted.type === 'webpage' && isPost(page.url) ? { ...extracted, type: 'tweet' } : extracted;
  }
  if (kind !== 'file')
    return extractor.extract({ kind: kind as 'text' | 'markdown' | 'html', text: raw ?? '' }, { signal });
  const file = bytes ?? (raw === null ? null : Buffer.from(raw));
  // The bytes of a synced file are dropped once its text is taken; then only its fields are processed again.
  if (file === null) return extractor.extract({ kind: 'markdown', text: document.content ?? '' }, { signal });
  const named = { ...(mimeType === null ? {} : { mimeType }), ...(name === null ? {} : { name }) };
  const extracted = await extractFile(extractor, document, { bytes: file, ...named }, signal);
  if (unreadTypes.includes(document.type)) {
    throw new MemorydError('unsupported_type', `Taking text from ${document.type} files is not available.`, {
      shouldRetry: false,
    });
  }
  return extracted;
}

/** What cannot be read is still known for what it is. */
async function extractFile(
  extractor: Extractor,
  document: ClaimedDocument,
  file: { bytes: Uint8Array; mimeType?: string; name?: string },
  signal: AbortSignal,
): Promise<Extracted> {
  try {
    return await extractor.extract({ kind: 'file', ...file }, { signal });
  } catch (error) {
    const isGuess = document.kind === 'url' || document.type === 'text';
    if (isGuess) document.type = typeOfFile(file.bytes, file.mimeType, file.name) ?? document.type;
    throw error;
  }
}

/** Types that a caller may say of a file, and that nothing here reads. */
const unreadTypes = ['image', 'audio', 'video'];
