import { readFileSync } from 'node:fs';
import type { TokenCounting } from './embedder.ts';
import { parseTokenizer } from './tokenizer-file.ts';

type CountTokens = (text: string) => number;

const words = /[\p{L}\p{N}]+/gu;
/** A longer word counts as several, so that an endless one cannot make an endless chunk. */
const maxWordCharacters = 100;
const wordPieces = new Map<string, CountTokens>();

/** Counts the tokens that a model sees for a text. A tokenizer is read once in each thread. */
export function createTokenCounter(counting: TokenCounting): CountTokens {
  switch (counting.kind) {
    case 'word-piece':
      return wordPieceCounter(counting.path);
    case 'estimate':
      return estimateTokens;
    case 'words':
      return countWords;
  }
}

function wordPieceCounter(path: string): CountTokens {
  const known = wordPieces.get(path);
  if (known) return known;
  const { count } = parseTokenizer(readFileSync(path, 'utf8'), path);
  wordPieces.set(path, count);
  return count;
}

function countWords(text: string): number {
  let count = 0;
  for (const [word] of text.matchAll(words)) count += Math.ceil(word.length / maxWordCharacters);
  return count;
}

/** Runs of letters, runs of digits, and any other visible character by itself. */
const pieces = /[A-Za-z]+|\d+|[^\sA-Za-z\d]/g;
const lettersPerToken = 4;
const digitsPerToken = 2;

/**
 * Tokens a text may come to at a tokenizer we do not know. Meant to be too high rather than too
 * low: a word counts at least once, four letters or two digits at the most go into one token, and
 * every other UTF-16 unit (an ideograph, half an emoji, a sign) is one.
 */
export function estimateTokens(text: string): number {
  let tokens = 0;
  for (const [piece] of text.matchAll(pieces)) tokens += tokensOf(piece);
  return tokens;
}

/** The start of a text that is estimated at `maxTokens` or less, cut between pieces where possible. */
export function cutToTokens(text: string, maxTokens: number): string {
  if (text.length <= maxTokens) return text;
  let rest = maxTokens;
  for (const match of text.matchAll(pieces)) {
    const tokens = tokensOf(match[0]);
    if (tokens > rest) return text.slice(0, match.index + (tokens > maxTokens ? rest : 0)).toWellFormed();
    rest -= tokens;
  }
  return text;
}

function tokensOf(piece: string): number {
  const first = piece.charCodeAt(0);
  if (first >= 0x30 && first <= 0x39) return Math.ceil(piece.length / digitsPerToken);
  const isLetter = (first >= 0x41 && first <= 0x5a) || (first >= 0x61 && first <= 0x7a);
  return isLetter ? Math.ceil(piece.length / lettersPerToken) : 1;
}
