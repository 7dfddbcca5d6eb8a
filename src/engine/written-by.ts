import type { Extracted } from './extract/extracted.ts';

/** Who wrote a text, and when: of a mail its header says it, of a text its front matter does. Pages name whom they like. */
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
