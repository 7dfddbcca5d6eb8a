import { MemorydError } from '../base/errors.ts';
import type { DocumentBody } from './document.ts';
import { detect } from './extract/detect.ts';

/**
 * Why no text can be taken from a content, told by its first bytes; null when it is worth reading.
 * Lets a mirror leave out what it could only store in vain.
 */
export function refusalOf(body: DocumentBody): string | null {
  if (body.kind !== 'file') return null;
  try {
    detect(body.bytes, body.mimeType, body.name);
    return null;
  } catch (error) {
    if (MemorydError.is(error)) return error.message;
    throw error;
  }
}

const unreadable =
  /^(?:image\/(?!svg)|audio\/|video\/|font\/)|^application\/(?:zip|gzip|x-7z-compressed|x-tar|vnd\.rar|java-archive)/;

/** The same by the declared type alone, before anything is downloaded. */
export function refusalOfType(mimeType: string | undefined): string | null {
  return mimeType !== undefined && unreadable.test(mimeType) ? `No text can be taken from ${mimeType}.` : null;
}
