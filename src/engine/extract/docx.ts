import { failed, type Extracted } from './extracted.ts';
import { htmlText } from './html.ts';
import { propertiesOf } from './office-properties.ts';
import { openParts } from './parts.ts';

type Page = Omit<Extracted, 'type'>;

const styles = ["p[style-name='Title'] => h1:fresh", "p[style-name='Subtitle'] => p:fresh"];

/** A Word document as Markdown. Throws `extract_failed` when it is damaged. */
export async function docxText(bytes: Uint8Array): Promise<Page> {
  const parts = openParts(bytes, 'Word document');
  // Read once for the limit on what is unpacked; images are not.
  for (const name of parts.names) if (/\.(?:xml|rels)$/i.test(name)) parts.bytes(name);
  const page = await htmlText(await toHtml(bytes), {});
  const { title, metadata } = propertiesOf(openParts(bytes, 'Word document'));
  return { ...page, format: 'markdown', title: title ?? page.title, metadata };
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
