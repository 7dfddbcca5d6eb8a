import type { Metadata } from '../document.ts';
import { failed } from './detect.ts';
import type { Extracted } from './extracted.ts';
import { htmlText } from './html.ts';
import { isoDate } from './plain.ts';
import { inflateEntry, readZip, type ZipEntry } from './zip.ts';

type Page = Omit<Extracted, 'type'>;

/** A document whose text parts unpack to more is over any limit, or made to fill the memory. */
const maxUnpackedBytes = 64 * 1024 * 1024;
const maxPropertiesBytes = 1024 * 1024;
const styles = ["p[style-name='Title'] => h1:fresh", "p[style-name='Subtitle'] => p:fresh"];

/** A Word document as Markdown. Throws `extract_failed` when it is damaged. */
export async function docxText(bytes: Uint8Array): Promise<Page> {
  const entries = readZip(bytes);
  if (!entries) throw failed('The Word document is damaged: its ZIP directory is missing.');
  checkUnpackedSize(bytes, entries);
  const page = await htmlText(await toHtml(bytes), {});
  const properties = readProperties(bytes, entries);
  return { ...page, format: 'markdown', title: properties.title ?? page.title, metadata: properties.metadata };
}

function checkUnpackedSize(bytes: Uint8Array, entries: readonly ZipEntry[]): void {
  let left = maxUnpackedBytes;
  // Images are not unpacked.
  for (const entry of entries.filter((each) => /\.(?:xml|rels)$/i.test(each.name))) {
    try {
      left -= inflateEntry(bytes, entry, left).length;
    } catch (error) {
      const bomb = error instanceof RangeError && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
      throw failed(
        bomb
          ? `The Word document unpacks to more than ${maxUnpackedBytes >> 20} MiB.`
          : 'The Word document is damaged: one of its parts cannot be unpacked.',
        error,
      );
    }
  }
}

async function toHtml(bytes: Uint8Array): Promise<string> {
  const { default: mammoth } = await import('mammoth');
  // Only the descriptions of images are taken, so the images themselves are not read.
  const convertImage = mammoth.images.imgElement(() => Promise.resolve({ src: '' }));
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  try {
    return (await mammoth.convertToHtml({ buffer }, { convertImage, styleMap: styles })).value;
  } catch (error) {
    throw failed('The Word document is damaged: it cannot be read.', error);
  }
}

function readProperties(bytes: Uint8Array, entries: readonly ZipEntry[]): { title?: string; metadata: Metadata } {
  const entry = entries.find((each) => each.name === 'docProps/core.xml');
  if (!entry) return { metadata: {} };
  const xml = new TextDecoder().decode(inflateEntry(bytes, entry, maxPropertiesBytes));
  const property = (name: string) =>
    unescapeXml(new RegExp(`<${name}[^<>]*>([^<]*)</${name}>`).exec(xml)?.[1] ?? '').trim();
  const title = property('dc:title');
  const author = property('dc:creator');
  const date = isoDate(property('dcterms:modified') || property('dcterms:created'));
  return { ...(title ? { title } : {}), metadata: { ...(author ? { author } : {}), ...(date ? { date } : {}) } };
}

function unescapeXml(text: string): string {
  return text
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&quot;/g, '"')
    .replace(/&apos;/g, "'")
    .replace(/&amp;/g, '&');
}
