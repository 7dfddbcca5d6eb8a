import type { Extracted } from './extract/extracted.ts';

/** The author and date of a text: from the header of a mail or the front matter of a text. Pages may name anybody. */
export function writtenOf({ text, format, metadata }: Extracted): { author: string | null; writtenAt: Date | null } {
  const { author, from, date } = metadata ?? {};
  if (typeof from === 'string') {
    return { author: from === '' ? null : from, writtenAt: typeof date === 'string' ? dateOf(date) : null };
  }
  const isTold = format === 'markdown' && text.startsWith('---') && typeof author === 'string' && author !== '';
  return { author: isTold ? author : null, writtenAt: null };
}

function dateOf(text: string): Date | null {
  const date = new Date(text);
  return Number.isNaN(date.getTime()) ? null : date;
}
