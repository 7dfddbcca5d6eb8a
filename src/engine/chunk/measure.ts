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
