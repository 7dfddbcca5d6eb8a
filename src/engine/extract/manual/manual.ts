import type { Extracted } from '../extracted.ts';
import { manText } from './man.ts';
import { mdocText } from './mdoc.ts';
import { pageOf } from './requests.ts';

/** A page of a manual, in the macros of man(7) or mdoc(7), as Markdown without them. Title: its name and what it does. */
export function manualText(text: string): Omit<Extracted, 'type'> {
  const page = pageOf(text);
  const isMdoc = page.lines.some((line) => /^[.'][ \t]*(?:Dd|Dt|Sh)\b/.test(line));
  return { ...(isMdoc ? mdocText(page) : manText(page)), format: 'markdown' };
}
