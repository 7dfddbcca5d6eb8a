import { failed, type Extracted } from './extracted.ts';
import { htmlText } from './html.ts';
import { propertiesOf } from './office-xml.ts';
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

/** Around a part of a formula; in the end nothing, or brackets where the part is more than a letter or digit. */
const [from, to] = ['\u{e000}', '\u{e001}'];
/** What stands between the parts of a formula (ECMA-376 part 1, 22.1): a fraction is `(num)/(den)`, a power `a^(b)`. */
const marks: readonly (readonly [RegExp, string])[] = [
  [/<m:(?:num|den|deg)>/g, from],
  [/<\/m:num>/g, `${to}/`],
  [/<m:sup>/g, `^${from}`],
  [/<m:sub>/g, `_${from}`],
  [/<\/m:(?:den|sup|sub|deg)>/g, to],
  [/<m:radPr[ />]/g, '√$&'],
  [/<m:dPr[ />]/g, '($&'],
  [/<\/m:d>/g, ')'],
];
const [opening, closing] = ['<m:oMath>', '</m:oMath>'];

/** The body of a Word document with its formulas as runs of text, which readers of text know. */
export function withFormulas(xml: string): string {
  let read = '';
  let position = 0;
  for (;;) {
    const start = xml.indexOf(opening, position);
    const end = start === -1 ? -1 : xml.indexOf(closing, start);
    if (end === -1) break;
    read += `${xml.slice(position, start)}<w:r><w:t xml:space="preserve">${formula(xml.slice(start, end))}</w:t></w:r>`;
    position = end + closing.length;
  }
  return (read + xml.slice(position)).replace(/<\/?m:oMathPara>/g, '');
}

function formula(math: string): string {
  const marked = marks.reduce((text, [part, mark]) => text.replace(part, mark), math);
  const said = marked.replace(/<[^<>]*>/g, '').replace(/[\u2061-\u2064]/g, '');
  const brief = said.replace(/\ue000([\p{L}\p{N}]?)\ue001/gu, '$1');
  return brief.replaceAll(from, '(').replaceAll(to, ')').replace(/\s+/g, ' ');
}
