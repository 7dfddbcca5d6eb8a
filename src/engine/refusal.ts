import { MemorydError } from '../base/errors.ts';
import type { DocumentBody } from './document.ts';
import { detect } from './extract/detect.ts';
import { typeOfFile } from './extract/type-of-file.ts';

/**
 * Why no text can be taken from a content, told by its first bytes; null when it is worth reading.
 * Lets a mirror leave out what it could only store in vain. `readsPictures`: images have text as well.
 */
export function refusalOf(body: DocumentBody, readsPictures = false): string | null {
  if (body.kind !== 'file') return null;
  try {
    detect(body.bytes, body.mimeType, body.name);
    return null;
  } catch (error) {
    if (!MemorydError.is(error)) throw error;
    return readsPictures && typeOfFile(body.bytes, body.mimeType, body.name) === 'image' ? null : error.message;
  }
}

const picture = /^image\/(?!svg)/;
const unreadable = /^(?:audio|video|font)\/|^application\/(?:x-7z-compressed|x-tar|vnd\.rar|java-archive)/;

/** The same by the declared type alone, before anything is downloaded. */
export function refusalOfType(mimeType: string | undefined, readsPictures = false): string | null {
  if (mimeType === undefined) return null;
  const isUnreadable = unreadable.test(mimeType) || (!readsPictures && picture.test(mimeType));
  return isUnreadable ? `No text can be taken from ${mimeType}.` : null;
}
