import type { Tokenizer } from './tokenizer.ts';

/** A query that texts are compared with, as token ids between those that frame a text. */
export interface Question {
  tokens: Int32Array;
  /** How much each token counts, without those that frame it. */
  weights: Float32Array;
}

export interface Comparison {
  question: Question;
  texts: Int32Array[];
}

/** The cost of a comparison grows with this; a turn of a conversation has fewer tokens, a page several times as many. */
const windowTokens = 16;

/** More than the empty words have. */
const mostEmpty = 256;

/**
 * Words and marks that questions are made of. They are rare among texts that tell something, and common in other
 * questions, whatever these ask.
 */
const emptyWords = `what when where which who whom whose why how is are was were be been am do does did has have had can
  could will would shall should may might must a an the this that these those there it its he she they them him his her
  their i me my we us our you your of in on at to from for with by about as and or but if then so than not no s t d ll m
  re ve ? ! . , ; : ' " -`;

/**
 * Of each text that part which holds most of the query; tokens of the query count more the fewer of the texts hold them,
 * and those of empty words only where there are no others.
 */
export function comparisonOf(
  { start, end, encode }: Tokenizer,
  query: string,
  { texts, maxTokens }: { texts: readonly string[]; maxTokens: number },
): Comparison {
  const frame = (tokens: readonly number[]) => Int32Array.of(...start, ...tokens, ...end);
  const asked = [...encode(query, maxTokens)];
  const told = texts.map((text) => [...encode(text, maxTokens)]);
  const held = told.map((tokens) => new Set(tokens));
  const empty = new Set(encode(emptyWords, mostEmpty));
  const counted = asked.some((token) => !empty.has(token)) ? (token: number) => !empty.has(token) : () => true;
  const weights = asked.map((token) =>
    counted(token) ? rarity(held.filter((one) => one.has(token)).length, held.length) : 0,
  );
  const worth = new Map(asked.map((token, place) => [token, weights[place]!]));
  return {
    question: { tokens: frame(asked), weights: Float32Array.from(weights) },
    texts: told.map((tokens) => frame(windowOf(tokens, worth))),
  };
}

/** As BM25 weighs terms. */
function rarity(holding: number, all: number): number {
  return Math.log(1 + (all - holding + 0.5) / (holding + 0.5));
}

/** The first of the best; windows overlap by half. */
function windowOf(tokens: readonly number[], worth: ReadonlyMap<number, number>): readonly number[] {
  const last = Math.max(tokens.length - windowTokens, 0);
  let best = { from: 0, held: 0 };
  for (let next = 0; next < tokens.length; next += windowTokens / 2) {
    const from = Math.min(next, last);
    const held = heldIn(tokens.slice(from, from + windowTokens), worth);
    if (held > best.held) best = { from, held };
    if (from === last) break;
  }
  return tokens.slice(best.from, best.from + windowTokens);
}

/** What the tokens of the query are worth that stand in a window, each once. */
function heldIn(window: readonly number[], worth: ReadonlyMap<number, number>): number {
  const found = window.filter((token) => worth.has(token));
  return [...new Set(found)].reduce((sum, token) => sum + worth.get(token)!, 0);
}
