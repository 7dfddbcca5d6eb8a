import { MemorydError } from '../base/errors.ts';
import type { Extracted, ExtractInput, Picture } from './extract/extracted.ts';
import { typeOfFile } from './extract/type-of-file.ts';
import { mayReadLater, type Ocr } from './ocr.ts';
import type { Extractor } from './text/text-work.ts';

interface Reading<Read> {
  read(input: ExtractInput): Promise<Read>;
  extractedOf(read: Read): Extracted;
  /** Absent or null: nobody reads pictures. */
  ocr?: Ocr | null | undefined;
}

/**
 * Reads content; where it is an image or a scan, or holds some, OCR reads these. Throws as `read` and `Ocr.read`;
 * a picture within a file that OCR refuses leaves the rest of the file readable.
 */
export async function readWithPictures<Read>(
  { read, extractedOf, ocr }: Reading<Read>,
  input: ExtractInput,
  signal: AbortSignal,
): Promise<Read> {
  if (!ocr || input.kind !== 'file') return read(input);
  try {
    const found = await read({ ...input, pictures: [] });
    const { pictures = [] } = extractedOf(found);
    if (pictures.length === 0) return found;
    const texts: (string | null)[] = [];
    for (const picture of pictures) texts.push(await textIn(ocr, picture, signal));
    return await read({ ...input, pictures: texts });
  } catch (error) {
    const type = typeOfFile(input.bytes, input.mimeType, input.name);
    const isPicture = type === 'image' || type === 'pdf';
    if (!isPicture || !MemorydError.is(error) || error.code !== 'unsupported_type') throw error;
    const text = await ocr.read({ bytes: input.bytes, mimeType: pictureType(type, input.mimeType) }, signal);
    const found = await read({ kind: 'text', text });
    extractedOf(found).type = type;
    return found;
  }
}

/** Null when another attempt would not read it either. */
async function textIn(ocr: Ocr, { bytes, type, mimeType }: Picture, signal: AbortSignal): Promise<string | null> {
  try {
    return await ocr.read({ bytes, mimeType: pictureType(type, mimeType) }, signal);
  } catch (error) {
    if (!MemorydError.is(error) || mayReadLater(error)) throw error;
    return null;
  }
}

/** The MIME type that the sender stated; an OCR server tells images apart by their content. */
function pictureType(type: Picture['type'], mimeType = ''): string {
  if (type === 'pdf') return 'application/pdf';
  return /^image\/[\w.+-]+$/.test(mimeType) ? mimeType : 'application/octet-stream';
}

/** An extractor that also reads pictures. */
export function withPictures(extractor: Extractor, ocr: Ocr | null): Extractor {
  return {
    readsPictures: ocr !== null,
    extract(input, options = {}) {
      const read = (one: ExtractInput) => extractor.extract(one, options);
      const signal = options.signal ?? new AbortController().signal;
      return readWithPictures({ read, extractedOf: (found) => found, ocr }, input, signal);
    },
  };
}
