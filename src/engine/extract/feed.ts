import { parseXml, type DomElement, isTooDeep } from './dom.ts';
import type { Extracted } from './extracted.ts';
import { htmlText } from './html.ts';
import { demoteHeadings, isoDate } from './plain.ts';

type Plain = Omit<Extracted, 'type'>;

/** An RSS or Atom feed: each entry a section with its date, address and text. */
export async function feedText(xml: string): Promise<Plain | null> {
  if (isTooDeep(xml, 'xml')) return null;
  const document = await parseXml(xml);
  const root = document.querySelector('channel') ?? document.querySelector('feed');
  if (!root) return null;
  const title = childText(root, ['title']);
  const about = await plainHtml(childText(root, ['description', 'subtitle']));
  const sections: string[] = [];
  for (const entry of document.querySelectorAll('item, entry')) sections.push(await entryText(entry));
  const text = [title === '' ? '' : `# ${title}`, about, ...sections].filter(Boolean).join('\n\n');
  return { text, format: 'markdown', title: title || null };
}

async function entryText(entry: DomElement): Promise<string> {
  const title = childText(entry, ['title']);
  const date = isoDate(childText(entry, ['pubDate', 'published', 'updated', 'dc:date']));
  const author = childText(entry, ['dc:creator', 'author']);
  const link = childText(entry, ['link']) || (child(entry, 'link')?.getAttribute('href') ?? '');
  const content = await plainHtml(childText(entry, ['content:encoded', 'content', 'description', 'summary']));
  const facts = [date, author, link].filter(Boolean).join(', ');
  return [`## ${title || 'Entry'}`, facts, withoutOwnLink(content, link)].filter(Boolean).join('\n\n');
}

const mostWordsAround = 8;

/** Without a last paragraph that only says where the entry stands: `The post [title](address) appeared first on …`. */
function withoutOwnLink(content: string, address: string): string {
  const start = content.lastIndexOf('\n\n') + 1;
  const last = content.slice(start);
  if (address === '' || !last.includes(`](${address}`)) return content;
  const around = last.replace(/\[[^\]]*\]\([^)]*\)/g, '').match(/\p{L}+/gu) ?? [];
  return around.length <= mostWordsAround ? content.slice(0, start).trimEnd() : content;
}

function child(element: DomElement, name: string): DomElement | undefined {
  return [...element.children].find((each) => each.nodeName.toLowerCase() === name.toLowerCase());
}

/** The text of the first child with one of these names that has any. */
function childText(element: DomElement, names: string[]): string {
  return names.map((name) => child(element, name)?.textContent?.trim() ?? '').find(Boolean) ?? '';
}

async function plainHtml(content: string): Promise<string> {
  // Headings inside of an entry would end its section.
  return /[<&]/.test(content) ? demoteHeadings((await htmlText(content, {})).text, 2) : content;
}

/** The texts of a drawing: its title, description and labels. */
export async function svgText(xml: string): Promise<Plain> {
  if (isTooDeep(xml, 'xml')) return xmlText(xml);
  const document = await parseXml(xml);
  const texts = [...document.querySelectorAll('title, desc, text')].map((element) =>
    (element.textContent ?? '').replace(/\s+/g, ' ').trim(),
  );
  const title = document.querySelector('title')?.textContent?.trim() || null;
  return { text: [...new Set(texts.filter(Boolean))].join('\n'), format: 'text', title };
}

/** Any other XML as it is, with line breaks between elements when it has none. */
export function xmlText(xml: string): Plain {
  const text = xml.trim().includes('\n') ? xml : xml.replace(/></g, '>\n<');
  return { text, format: 'code', title: null, metadata: { language: 'xml' } };
}
