import { queryWords, terms } from '../engine/terms.ts';
import type { Reranker } from '../models/reranker.ts';

const sentenceEnd = /(?<=[.!?。！？])\s+|\n+/u;

/** For models that tell no vectors of tokens: the largest share of the query's words that stand in one sentence. */
export const wordReranker: Reranker = {
  score: async (query, texts) => {
    const wanted = queryWords(query).map(({ forms }) => forms);
    return texts.map((text) => Math.max(0, ...text.split(sentenceEnd).map((sentence) => shareOf(wanted, sentence))));
  },
};

function shareOf(wanted: readonly (readonly string[])[], sentence: string): number {
  if (wanted.length === 0) return 0;
  const found = new Set(terms(sentence).terms);
  return wanted.filter((forms) => forms.some((form) => found.has(form))).length / wanted.length;
}
