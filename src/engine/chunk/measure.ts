import { isSpace } from './blocks.ts';

/** How large things are for the embedder, and what fits into one chunk. */
export interface Measure {
  /** Tokens of a text, without those that the model adds to any input. */
  tokens(text: string): number;
  /** Tokens that the model adds to any input. */
  readonly overhead: number;
  readonly maxTokens: number;
  /**
   * No chunk is longer, whatever its tokens: tokenizers make one unknown token of a long run of
   * characters, or none of white space, and such a chunk would be of no use to anyone.
   */
  readonly maxCharacters: number;
}

const charactersPerToken = 12;

export function createMeasure(countTokens: (text: string) => number, maxTokens: number): Measure {
  const overhead = countTokens('');
  return {
    tokens: (text) => countTokens(text) - overhead,
    overhead,
    maxTokens,
    maxCharacters: maxTokens * charactersPerToken,
  };
}

/** Where the text of a stretch ends, before its trailing white space. */
export function contentEnd(text: string, start: number, end: number): number {
  let last = end;
  while (last > start && isSpace(text.charCodeAt(last - 1))) last--;
  return last;
}

/** Where the text of a stretch starts: after blank lines, with the indentation of its first line. */
export function contentStart(text: string, start: number, end: number): number {
  let first = start;
  let line = start;
  for (; first < end && isSpace(text.charCodeAt(first)); first++) if (text.charCodeAt(first) === 0x0a) line = first + 1;
  return line;
}

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

const graphemeWindow = 64;

const shrink = 0.6;

/** White space is looked for in this share of a piece at its end, and at least so many characters back: words are whole then. */
const searchShare = 0.3;

const leastSearch = 60;

/**
 * Cuts a stretch that has no better places into pieces that fit: at white space when there is some
 * near the end of a piece, else between graphemes, else between code points.
 * `fits` is asked only for pieces of at most `maxCharacters`.
 */
export function sizePieces(
  text: string,
  start: number,
  end: number,
  maxCharacters: number,
  fits: (start: number, end: number) => boolean,
): { start: number; end: number }[] {
  const pieces: { start: number; end: number }[] = [];
  let size = maxCharacters;
  for (let position = start; position < end;) {
    let cut = pieceEnd(text, position, end, size);
    while (!fits(position, cut) && cut > nextCodePoint(text, position)) {
      size = Math.max(1, Math.floor((cut - position) * shrink));
      cut = pieceEnd(text, position, end, size);
    }
    pieces.push({ start: position, end: cut });
    position = cut;
    // Texts change on the way: look whether longer pieces fit again.
    size = Math.min(maxCharacters, Math.ceil(size * 1.25) + 1);
  }
  return pieces;
}

function pieceEnd(text: string, position: number, end: number, size: number): number {
  const limit = position + size;
  if (limit >= end) return end;
  const earliest = Math.max(position, limit - Math.max(Math.floor(size * searchShare), leastSearch));
  for (let index = limit; index > earliest; index--) if (isSpace(text.charCodeAt(index - 1))) return index;
  return Math.max(graphemeStart(text, position, limit), nextCodePoint(text, position));
}

/** The start of the grapheme that holds `index`, or of its code point when that would be no progress. */
function graphemeStart(text: string, position: number, index: number): number {
  const from = wholeCodePoint(text, Math.max(position, index - graphemeWindow));
  const segment = graphemes.segment(text.slice(from, index + graphemeWindow)).containing(index - from);
  const found = from + (segment?.index ?? 0);
  return found > position ? found : wholeCodePoint(text, index);
}

function wholeCodePoint(text: string, index: number): number {
  return isPairMiddle(text, index) ? index - 1 : index;
}

function nextCodePoint(text: string, position: number): number {
  return isPairMiddle(text, position + 1) ? position + 2 : position + 1;
}

function isPairMiddle(text: string, index: number): boolean {
  return (text.charCodeAt(index) & 0xfc00) === 0xdc00 && (text.charCodeAt(index - 1) & 0xfc00) === 0xd800;
}
