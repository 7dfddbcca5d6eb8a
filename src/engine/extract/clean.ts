import { MemorydError } from '../../base/errors.ts';
import { readableBytes } from '../../base/readable-bytes.ts';
import type { Json, Metadata } from '../document.ts';
import type { Extracted } from './extracted.ts';

const maxTitle = 500;
const maxMetadataText = 1000;
const maxMetadataTexts = 50;

/**
 * Text that PostgreSQL can store (no U+0000, no lone surrogates), with LF line ends and without a
 * byte order mark.
 */
export function cleanText(text: string): string {
  let clean = text;
  if (clean.charCodeAt(0) === 0xfeff) clean = clean.slice(1);
  if (clean.includes('\r')) clean = clean.replace(/\r\n?/g, '\n');
  if (clean.includes('\0')) clean = clean.replaceAll('\0', '');
  return clean.isWellFormed() ? clean : clean.replace(/\p{Surrogate}/gu, '');
}

/** One line of plain text, or null when nothing is left. */
function cleanTitle(title: string | null | undefined): string | null {
  if (!title) return null;
  const line = cleanText(title.slice(0, maxTitle * 4))
    .replace(/\s+/g, ' ')
    .trim();
  return cleanText(line.slice(0, maxTitle)) || null;
}

/** The last step of every extraction. Throws `too_large` when the text is over the limit. */
export function finish(extracted: Extracted, maxTextBytes: number): Extracted {
  const text = cleanText(extracted.text);
  checkSize(Buffer.byteLength(text), maxTextBytes);
  const { metadata, degraded, ...rest } = extracted;
  const fields = cleanMetadata(metadata ?? {});
  return {
    ...rest,
    text,
    title: cleanTitle(extracted.title),
    ...(Object.keys(fields).length > 0 ? { metadata: fields } : {}),
    ...(degraded && degraded.length > 0 ? { degraded: [...new Set(degraded)] } : {}),
  };
}

export function checkSize(bytes: number, maxTextBytes: number): void {
  if (bytes <= maxTextBytes) return;
  throw new MemorydError(
    'too_large',
    `The text has more than ${readableBytes(maxTextBytes)}, the most that is taken from one document.`,
    { shouldRetry: false },
  );
}

function cleanMetadata(metadata: Metadata): Metadata {
  const fields: Metadata = {};
  for (const [key, value] of Object.entries(metadata)) {
    const clean = cleanValue(value);
    if (clean !== '' && !(Array.isArray(clean) && clean.length === 0)) fields[key] = clean;
  }
  return fields;
}

function cleanValue(value: Json): Json {
  if (typeof value === 'string') return shorten(value);
  return Array.isArray(value) ? value.slice(0, maxMetadataTexts).map(cleanValue).filter(Boolean) : value;
}

function shorten(value: string): string {
  return cleanText(cleanText(value).trim().slice(0, maxMetadataText));
}
