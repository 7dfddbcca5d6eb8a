import type { Metadata } from '../document.ts';
import { checkSize } from './clean.ts';
import { failed, type Extracted } from './extracted.ts';
import { MemorydError } from '../../base/errors.ts';
import { pageText, type TextItem } from './pdf-page.ts';

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
    metadata: { ...(author ? { author } : {}), ...(date ? { date } : {}) },
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
