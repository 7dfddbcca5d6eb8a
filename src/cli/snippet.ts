import { displayWidth, oneLine, truncate, wrap } from './text.ts';

/** Words of a question that say nothing about what is looked for. */
const filling = new Set(
  'about and are can did does for from had has have how into its our out the that their them then there they this was were what when where which who why will with would you your'.split(
    ' ',
  ),
);

/** The words of a query that are marked in results, in lower case, without their endings. */
export function queryWords(query: string): string[] {
  const words = query.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const telling = words.filter((word) => (word.length > 2 || displayWidth(word) > word.length) && !filling.has(word));
  return [...new Set(telling.map((word) => (word.length > 5 ? word.replace(/(?:ing|ed|es|s)$/, '') : word)))];
}

/** Matches of the words in a text: a word of the text that begins with one of them. Null for no words. */
export function matcher(words: readonly string[]): RegExp | null {
  if (words.length === 0) return null;
  const alternatives = words.map((word) =>
    // Scripts without spaces between words have no beginnings of words.
    displayWidth(word) > word.length ? word : `(?<![\\p{L}\\p{N}])${word}[\\p{L}\\p{N}]*`,
  );
  return new RegExp(alternatives.join('|'), 'giu');
}

export interface SnippetShape {
  columns: number;
  lines: number;
}

/** The part of a text that holds the most different words of the query, as lines of a terminal. */
export function snippet(text: string, words: readonly string[], shape: SnippetShape): string[] {
  const clean = oneLine(text);
  const room = shape.columns * shape.lines - 2 * shape.columns * 0.1;
  const start = bestStart(clean, words, Math.floor(room));
  const lines = wrap((start > 0 ? '…' : '') + clean.slice(start), shape.columns);
  if (lines.length <= shape.lines) return lines;
  const last = `${lines[shape.lines - 1]!} ${lines[shape.lines]!}`;
  return [...lines.slice(0, shape.lines - 1), truncate(last, shape.columns)];
}

/** Where the window begins: a little before the match from which the most different words follow. */
function bestStart(text: string, words: readonly string[], room: number): number {
  const expression = matcher(words);
  if (!expression || text.length <= room) return 0;
  const matches = [...text.matchAll(expression)].map((match) => ({
    at: match.index,
    word: words.find((word) => match[0].toLowerCase().startsWith(word)),
  }));
  let best = { at: 0, different: 0 };
  for (const { at } of matches) {
    const inside = matches.filter((other) => other.at >= at && other.at < at + room * 0.7);
    const different = new Set(inside.map(({ word }) => word)).size;
    if (different > best.different) best = { at, different };
  }
  if (best.at < room * 0.3) return 0;
  const earlier = text.indexOf(' ', Math.max(0, best.at - Math.floor(room * 0.2)));
  return earlier < 0 || earlier >= best.at ? best.at : earlier + 1;
}
