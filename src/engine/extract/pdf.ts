import { at, present } from '../../base/collections.ts';
import type { Metadata } from '../document.ts';
import { checkSize, failed, type Extracted } from './extracted.ts';
import { MemorydError } from '../../base/errors.ts';

type Plain = Omit<Extracted, 'type'>;
type Pdf = Awaited<ReturnType<typeof import('unpdf').getDocumentProxy>>;

/**
 * The text of a PDF file, page by page. Throws `extract_failed` when it is damaged or protected by a
 * password, `unsupported_type` when its pages are images without text.
 */
export async function pdfText(bytes: Uint8Array, maxTextBytes: number): Promise<Plain> {
  const pdf = await open(bytes);
  try {
    const pages = await readPages(pdf, maxTextBytes);
    const text = pages.filter(Boolean).join('\n\n');
    if (text.trim() === '') throw noText(pdf.numPages);
    const { title, metadata } = await readInfo(pdf);
    const empty = pages.filter((page) => page === '').length;
    const degraded = empty > 0 ? [`${empty} of ${pages.length} pages have no text; they may be images.`] : [];
    return { text, format: 'text', title, metadata: { ...metadata, pages: pdf.numPages }, degraded };
  } finally {
    await pdf.destroy();
  }
}

async function open(bytes: Uint8Array): Promise<Pdf> {
  const { getDocumentProxy } = await import('unpdf');
  try {
    // The parser takes the bytes it gets for itself, so it gets a copy. Verbosity 0: errors only.
    return await getDocumentProxy(new Uint8Array(bytes), { verbosity: 0 });
  } catch (error) {
    const encrypted = error instanceof Error && error.name === 'PasswordException';
    throw failed(
      encrypted ? 'The PDF file is protected by a password.' : 'The PDF file is damaged: it cannot be read.',
      error,
    );
  }
}

function noText(pages: number): MemorydError {
  const subject =
    pages === 1 ? 'The page of the PDF file is an image' : `The ${pages} pages of the PDF file are images`;
  return new MemorydError(
    'unsupported_type',
    `${subject}: there is no text in it, and reading text in images is not available.`,
    {
      shouldRetry: false,
    },
  );
}

async function readPages(pdf: Pdf, maxTextBytes: number): Promise<string[]> {
  const pages: string[] = [];
  let bytes = 0;
  for (let number = 1; number <= pdf.numPages; number++) {
    const text = await readPage(pdf, number);
    bytes += Buffer.byteLength(text);
    checkSize(bytes, maxTextBytes);
    pages.push(text);
  }
  return pages;
}

async function readPage(pdf: Pdf, number: number): Promise<string> {
  try {
    const page = await pdf.getPage(number);
    const { items } = await page.getTextContent();
    page.cleanup();
    return pageText(items as TextItem[]);
  } catch (error) {
    throw failed(`The PDF file is damaged: page ${number} cannot be read.`, error);
  }
}

async function readInfo(pdf: Pdf): Promise<{ title: string | null; metadata: Metadata }> {
  const { info } = (await pdf.getMetadata()) as unknown as { info: Record<string, unknown> };
  const field = (name: string) => (typeof info[name] === 'string' ? info[name].trim() : '');
  const author = /^\(.*\)$/.test(field('Author')) ? '' : field('Author');
  const date = pdfDate(field('CreationDate'));
  return {
    title: sensibleTitle(field('Title')),
    metadata: present({ author: author || undefined, date: date || undefined }),
  };
}

/** Many writers put a file name or a placeholder where the title belongs. */
function sensibleTitle(title: string): string | null {
  const name = title.replace(/^Microsoft (?:Word|PowerPoint|Excel) - /, '').trim();
  const fileName =
    /\.(?:docx?|pptx?|xlsx?|indd|dvi|pdf|odt|tex|rtf|txt|pages)$/i.test(name) || /^\S*[_/\\]\S*$/.test(name);
  const placeholder = /^(?:\(.*\)|untitled.*|unbenannt.*|document\d*|dokument\d*|title)$/i.test(name);
  return name.length < 3 || fileName || placeholder || !/\p{L}{2}/u.test(name) ? null : name;
}

/** `D:20240131120000+01'00'` as ISO 8601. */
function pdfDate(value: string): string | undefined {
  const found = /^D:(\d{4})(\d\d)(\d\d)(\d\d)?(\d\d)?(\d\d)?(?:Z|([+-]\d\d)'?(\d\d)?)?/.exec(value);
  if (!found) return undefined;
  const [, year, month, day, hour = '00', minute = '00', second = '00', offset, offsetMinutes = '00'] = found;
  const zone = offset === undefined ? 'Z' : `${offset}:${offsetMinutes}`;
  const time = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}${zone}`);
  return Number.isNaN(time) ? undefined : new Date(time).toISOString();
}

/** A run of text on a page, as pdf.js gives it: in reading order, coordinates from the lower left. */
export interface TextItem {
  str: string;
  hasEOL: boolean;
  width: number;
  height: number;
  /** `[a, b, c, d, x, y]` */
  transform: number[];
}

interface Line {
  text: string;
  /** Of the baseline. */
  y: number;
  right: number;
  /** Has a wide gap, as rows of tables have; such lines are never joined. */
  gapped: boolean;
}

/** A gap between lines of this many usual gaps starts a paragraph. */
const paragraphGap = 1.3;
/** A line that reaches this share of the page's text width is wrapped, not ended, … */
const fullLine = 0.9;
/** … when there are this many, as in running text. */
const leastFullLines = 4;

/** The text of a page in paragraphs, with wrapped lines joined and hyphenated words whole. */
export function pageText(items: readonly TextItem[]): string {
  const lines = toLines(items);
  const usualGap = median(gapsOf(lines).filter((gap) => gap > 0));
  const right = wrapMargin(lines);
  const parts: string[] = [];
  for (const [index, line] of lines.entries()) {
    const previous = lines[index - 1];
    parts.push(previous ? joint(previous, line, usualGap, right) : '', line.text);
  }
  return joinHyphenated(parts.join(''))
    .replace(/(?<![ \t])[ \t]+$/gm, '')
    .trim();
}

function toLines(items: readonly TextItem[]): Line[] {
  const lines: Line[] = [];
  let open: Line | null = null;
  for (const item of items) {
    if (item.str !== '') {
      const [x = 0, y = 0] = item.transform.slice(4);
      open ??= { text: '', y, right: 0, gapped: false };
      const wide = item.str.trim() === '' && item.width > 8;
      open.gapped ||= wide;
      open.text += wide ? '  ' : item.str;
      open.right = Math.max(open.right, x + item.width);
    }
    if (!item.hasEOL) continue;
    if (open) lines.push(open);
    open = null;
  }
  if (open) lines.push(open);
  return lines.map((line) => ({ ...line, text: withoutRules(line.text) })).filter(({ text }) => text.trim() !== '');
}

/** Without what is drawn with characters: rules (`=====`), and the dots that lead to a page number. */
function withoutRules(line: string): string {
  return line.replace(/(?<!\S)([-=_*~#+])\1{4,}(?!\S)/g, '').replace(/(?<=[\p{L}\p{N})])[ ]?(?:[.·][ ]?){5,}/gu, '  ');
}

/** How far right a line has to reach to count as wrapped; infinite when the page is no running text. */
function wrapMargin(lines: readonly Line[]): number {
  const margin = lines.reduce((widest, line) => Math.max(widest, line.right), 0) * fullLine;
  const full = lines.filter((line) => line.right >= margin && !line.gapped);
  return full.length < leastFullLines ? Infinity : margin;
}

function gapsOf(lines: readonly Line[]): number[] {
  return lines.slice(1).map((line, index) => at(lines, index).y - line.y);
}

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[values.length >> 1] ?? 0;
}

function joint(previous: Line, line: Line, usualGap: number, right: number): string {
  const gap = previous.y - line.y;
  if (gap > usualGap * paragraphGap || gap < -usualGap) return '\n\n';
  const wrapped = previous.right >= right && !previous.gapped && !line.gapped;
  return wrapped && !/[-\u00ad]$/.test(previous.text) ? ' ' : '\n';
}

/**
 * "con-" and "firming" are one word, unless the text writes it with its hyphen elsewhere. "TIME-" and "OUT" are one
 * where the text writes it so elsewhere: names in capitals have hyphens of their own.
 */
function joinHyphenated(text: string): string {
  const written = new Set(text.match(/(?<!\p{L})\p{L}+-\p{Ll}+/gu));
  const capitals = new Set(text.match(/(?<!\p{L})\p{Lu}{4,}(?!\p{L})/gu));
  const whole = text.replace(
    /(?<!\p{L})(\p{Lu}+)[-\u00ad]\n(\p{Lu}+)(?!\p{L})/gu,
    (parts, first: string, second: string) => (capitals.has(first + second) ? first + second : parts),
  );
  // A part of a compound that has hyphens already has another one: state-of-the-art.
  return whole.replace(
    /((?<=\p{L})-|(?<!\p{L}))(\p{L}+)[-\u00ad]\n(\p{Ll}+)/gu,
    (_, hyphen: string, first: string, second: string) =>
      hyphen !== '' || written.has(`${first}-${second}`) ? `${hyphen}${first}-${second}` : first + second,
  );
}
