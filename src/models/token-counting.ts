import { readFileSync } from 'node:fs';
import type { TokenCounting } from './embedder.ts';
import { estimateTokens } from './http/text-estimate.ts';
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
