import { failed, type Extracted } from './extracted.ts';
import { htmlText } from './html.ts';
import { withFormulas } from './office-math.ts';
import { propertiesOf } from './office-properties.ts';
import { openParts, type Parts } from './parts.ts';

type Page = Omit<Extracted, 'type'>;

const styles = ["p[style-name='Title'] => h1:fresh", "p[style-name='Subtitle'] => p:fresh"];

/** A Word document as Markdown. Throws `extract_failed` when it is damaged. */
export async function docxText(bytes: Uint8Array): Promise<Page> {
  const parts = openParts(bytes, 'Word document');
  // Read once for the limit on what is unpacked; images are not.
  for (const name of parts.names) if (/\.(?:xml|rels)$/i.test(name)) parts.bytes(name);
  const page = await htmlText(await toHtml(openParts(bytes, 'Word document')), {});
  const { title, metadata } = propertiesOf(openParts(bytes, 'Word document'));
  return { ...page, format: 'markdown', title: title ?? page.title, metadata };
}

async function toHtml(parts: Parts): Promise<string> {
  const { default: mammoth } = await import('mammoth');
  // Only the descriptions of images are taken, so the images themselves are not read.
  const convertImage = mammoth.images.imgElement(() => Promise.resolve({ src: '' }));
  // Its declarations leave this way of reading out.
  const input = { file: archiveOf(parts) } as unknown as Parameters<typeof mammoth.convertToHtml>[0];
  try {
    return (await mammoth.convertToHtml(input, { convertImage, styleMap: styles })).value;
  } catch (error) {
    throw failed('The Word document is damaged: it cannot be read.', error);
  }
}

/** The archive as mammoth asks for it, with formulas in the texts, which it leaves out. */
function archiveOf({ names, bytes, text }: Parts) {
  const isText = (name: string) => /^word\/(?:document|footnotes|endnotes|comments)\d*\.xml$/.test(name);
  return {
    exists: (name: string) => names.includes(name),
    read: async (name: string, encoding?: string) => {
      if (!encoding) return bytes(name);
      if (encoding === 'base64') return Buffer.from(bytes(name) ?? []).toString('base64');
      return isText(name) ? withFormulas(text(name) ?? '') : text(name);
    },
  };
}
