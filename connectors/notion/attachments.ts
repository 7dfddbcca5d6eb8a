import type { FetchedDocument } from 'memoryd/connector';
import type { NotionContext } from './client.ts';
import { isKind } from './client.ts';
import { signedIn } from './presigned-urls.ts';

const documents = /\.(pdf|docx?|pptx?|xlsx?|odt|odp|ods|rtf|epub|csv|tsv|txt|md|html?|json|xml|eml|ipynb)$/i;
const images = /\.(png|jpe?g|gif|webp|tiff?|bmp|heic)$/i;
const mostFiles = 20;
const mostBytes = 25 * 1024 * 1024;

/** Files that were uploaded to the page, read while their addresses open. Those of other sites are left alone. */
export async function readAttachments(ctx: NotionContext, markdown: string): Promise<FetchedDocument[]> {
  const { files = true, images: withImages = false } = ctx.config;
  const isWanted = (name: string) => (files && documents.test(name)) || (withImages && images.test(name));
  const wanted = signedIn(markdown).filter((url) => isWanted(nameIn(url)));
  const parts: FetchedDocument[] = [];
  for (const url of wanted.slice(0, mostFiles)) parts.push(await readFile(ctx, url));
  if (wanted.length > mostFiles) parts.push({ markdown: `*${wanted.length - mostFiles} more files are not read.*` });
  return parts;
}

function nameIn(url: string): string {
  const last = new URL(url).pathname.split('/').at(-1) ?? '';
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}

async function readFile(ctx: NotionContext, url: string): Promise<FetchedDocument> {
  const name = nameIn(url);
  try {
    // The address itself is what opens the file; the token is for the API alone.
    const { bytes, headers } = await ctx.http.get(url, { anonymous: true, maxBytes: mostBytes });
    const [mimeType] = (headers['content-type'] ?? '').split(';');
    const type = mimeType && mimeType !== 'application/octet-stream' ? { mimeType } : {};
    return { title: name, file: { bytes, name, ...type } };
  } catch (error) {
    // A file that is gone or too large leaves the rest of the page worth having.
    if (!isKind(error, 'forbidden', 'gone', 'skip')) throw error;
    return { title: name, markdown: '*The file could not be read.*' };
  }
}
