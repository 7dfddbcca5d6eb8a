import { present } from '../../base/collections.ts';
import { MemorydError } from '../../base/errors.ts';
import { decodeText, declaredCharset } from './charset.ts';
import {
  checkSize,
  cleanText,
  finish,
  bytesOf,
  failed,
  type Extracted,
  type Member,
  type Source,
} from './extracted.ts';
import { detect, typeOfFile } from './detect.ts';
import { embedded, jsonLinesText, jsonText, notebookText, codeText, markdownText, plainText } from './plain.ts';

/**
 * Reads content whose format is known. Throws `MemorydError`: `extract_failed`, `unsupported_type`
 * or `too_large`. Libraries are loaded when their format first comes.
 */
export async function convert(source: Source): Promise<Extracted> {
  try {
    return finish(await read(source), source.maxTextBytes);
  } catch (error) {
    if (MemorydError.is(error)) throw error;
    throw failed(`The content cannot be read as ${source.format}.`, error);
  }
}

async function read(source: Source): Promise<Extracted> {
  if (source.format === 'pdf')
    return { ...(await (await import('./pdf.ts')).pdfText(bytesOf(source), source.maxTextBytes)), type: 'pdf' };
  if (source.format === 'gzip') return (await import('./archive.ts')).gzipText(source, convert);
  const page = (await readDocument(source)) ?? (await readContainer(source));
  if (page) return { ...page, type: 'text' };
  const { text, degraded } = decode(source);
  const found = await readText(source, text);
  return { ...found, degraded: [...(degraded === undefined ? [] : [degraded]), ...(found.degraded ?? [])] };
}

/** Reads office documents and electronic books. */
async function readDocument(source: Source): Promise<Omit<Extracted, 'type'> | null> {
  switch (source.format) {
    case 'docx':
      return (await import('./docx.ts')).docxText(bytesOf(source));
    case 'xlsx':
      return (await import('./xlsx.ts')).workbookText(bytesOf(source));
    case 'pptx':
      return (await import('./pptx.ts')).presentationText(bytesOf(source));
    case 'opendocument':
      return (await import('./opendocument.ts')).openDocumentText(bytesOf(source));
    case 'epub':
      return (await import('./epub.ts')).bookText(bytesOf(source));
    case 'rich-text':
      return (await import('./rtf.ts')).richText(bytesOf(source));
    default:
      return null;
  }
}

/** Reads formats that contain other files. */
async function readContainer(source: Source): Promise<Omit<Extracted, 'type'> | null> {
  const readMember = (member: Member) => memberText(source, member);
  switch (source.format) {
    case 'email':
      return (await import('./email.ts')).emailText(
        { ...source, bytes: source.bytes ?? Buffer.from(source.text ?? '') },
        readMember,
      );
    case 'outlook':
      return (await import('./outlook.ts')).outlookText({ ...source, bytes: bytesOf(source) }, readMember);
    case 'zip':
      return (await import('./archive.ts')).archiveText(source, readMember);
    default:
      return null;
  }
}

/** Pictures of one file that are read: a picture book is no text. */
const mostPictures = 50;

async function memberText(
  { pictures }: Source,
  { bytes, mimeType, name, depth, maxTextBytes }: Member,
): Promise<string> {
  try {
    const source: Source = { ...detect(bytes, mimeType, name), bytes, depth, maxTextBytes, page: true };
    return embedded(await convert({ ...source, ...present({ name }), ...(pictures && { pictures }) }));
  } catch (error) {
    const type = typeOfFile(bytes, mimeType, name);
    const isPicture = type === 'image' || type === 'pdf';
    if (!pictures || !isPicture || !MemorydError.is(error) || error.code !== 'unsupported_type') throw error;
    if (pictures.met.length === mostPictures) throw error;
    pictures.met.push({ type, bytes, ...present({ mimeType }) });
    const text = pictures.texts[pictures.met.length - 1];
    if (text === undefined || text === null) throw error;
    return text;
  }
}

function decode(source: Source): { text: string; degraded?: string } {
  if (source.text !== undefined) return { text: cleanText(source.text) };
  const bytes = bytesOf(source);
  // Two bytes of UTF-16 can be one of UTF-8; what is longer than that is over the limit in any case.
  checkSize(bytes.length / 2, source.maxTextBytes);
  const marked = ['html', 'xml', 'feed', 'svg'].includes(source.format);
  const { text, degraded } = decodeText(bytes, source.charset ?? (marked ? declaredCharset(bytes) : undefined));
  return { text: cleanText(text), ...present({ degraded }) };
}

async function readText(source: Source, text: string): Promise<Extracted> {
  switch (source.format) {
    case 'html':
      return { ...(await (await import('./html.ts')).htmlText(text, source)), format: 'markdown', type: 'webpage' };
    case 'feed':
    case 'svg':
    case 'xml':
      return { ...(await readXml(source, text)), type: 'text' };
    case 'csv':
      return { ...(await (await import('./csv.ts')).csvText(text, source.delimiter)), type: 'text' };
    case 'json':
      return { ...jsonText(text), type: 'text' };
    case 'json-lines':
      return { ...jsonLinesText(text), type: 'text' };
    case 'notebook':
      return { ...notebookText(text), type: 'text' };
    case 'markdown':
      return { ...markdownText(text), type: 'text' };
    case 'manual':
      return { ...(await import('./manual/manual.ts')).manualText(text), type: 'text' };
    case 'code':
      return { ...codeText(text, source.language), type: 'text' };
    case 'conversation':
      return { text, format: 'conversation', title: null, type: 'text' };
    default:
      return { ...plainText(text), type: 'text' };
  }
}

async function readXml(source: Source, text: string): Promise<Omit<Extracted, 'type'>> {
  const { feedText, svgText, xmlText } = await import('./feed.ts');
  if (source.format === 'svg') return svgText(text);
  return (source.format === 'feed' ? await feedText(text) : null) ?? xmlText(text);
}
