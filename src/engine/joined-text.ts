import { at } from '../base/collections.ts';

/** A line that says something: what it says without blanks at its end, and where it ends in its text. */
interface Line {
  text: string;
  end: number;
}

/**
 * Joins a text with a later part under the same customId, which may repeat all of it or its last lines;
 * null when nothing is new. Lines are compared without blanks at their ends, and empty ones do not count:
 *
 * - what is stored, or its end: nothing is new;
 * - all that is stored, and more: what was sent;
 * - first the last lines that are stored: what follows them is added;
 * - anything else: it is added after an empty line.
 */
export function joinedText(stored: string, sent: string): string | null {
  const [before, after] = [linesOf(stored), linesOf(sent)];
  if (before.length === 0) return after.length === 0 ? null : sent;
  const common = overlap(before, after);
  if (common === after.length) return null;
  if (common === before.length || withUnixLines(sent).startsWith(withUnixLines(stored).trimEnd())) return sent;
  const kept = stored.trimEnd();
  return common === 0 ? `${kept}\n\n${sent}` : `${kept}${sent.slice(at(after, common - 1).end)}`;
}

function linesOf(text: string): Line[] {
  const lines: Line[] = [];
  let start = 0;
  for (const line of text.split('\n')) {
    const said = line.trimEnd();
    if (said !== '') lines.push({ text: said, end: start + said.length });
    start += line.length + 1;
  }
  return lines;
}

function withUnixLines(text: string): string {
  return text.replaceAll('\r\n', '\n');
}

/** How many lines at the end of one text are the first of the other, by the prefix function of Knuth, Morris and Pratt. */
function overlap(before: readonly Line[], after: readonly Line[]): number {
  const wanted = after.map(({ text }) => text);
  const borders = bordersOf(wanted);
  let matched = 0;
  // No more lines can be in common than there are.
  for (const { text } of before.slice(-wanted.length)) {
    while (matched > 0 && (matched === wanted.length || wanted[matched] !== text)) matched = at(borders, matched - 1);
    if (wanted[matched] === text) matched += 1;
  }
  return matched;
}

/** For each beginning of a list, the length of the longest shorter one that it also ends with. */
function bordersOf(lines: readonly string[]): number[] {
  const borders = lines.map(() => 0);
  for (let place = 1, length = 0; place < lines.length; place++) {
    while (length > 0 && lines[place] !== lines[length]) length = at(borders, length - 1);
    if (lines[place] === lines[length]) length += 1;
    borders[place] = length;
  }
  return borders;
}
