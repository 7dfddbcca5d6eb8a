import { describe, expect, it } from 'vitest';
import type { Reranker } from '../../../src/models/reranker.ts';
import { rerank } from '../../../src/search/create-search.ts';
import { rerankedCandidates } from '../../../src/search/ranking-constants.ts';

interface Row {
  text: string;
  score: number;
  similarity: number;
}

const rows = (texts: Record<string, number>) =>
  Object.entries(texts).map(([text, score]): Row => ({ text, score, similarity: 0.7 }));
const order = (found: readonly Row[]) => found.map(({ text }) => text);

/** Finds those close that begin as the query does. */
const reranker: Reranker = {
  score: async (query, texts) => texts.map((text) => (text.startsWith(query) ? 1 : 0)),
};
const again = (texts: Record<string, number>) => rerank('spare', rows(texts), { reranker, signal: undefined });

describe('scoring candidates again', () => {
  it('puts before the others what is closer, unless the first ranking was very sure', async () => {
    expect(order(await again({ apart: 0.82, 'spare key': 0.8, other: 0.1 }))).toEqual(['spare key', 'apart', 'other']);
    expect(order(await again({ apart: 1, 'spare key': 0.1, other: 0 }))).toEqual(['apart', 'spare key', 'other']);
  });

  it('puts what asks behind what tells, if it is not much closer', async () => {
    expect(order(await again({ 'spare key?\n': 1, 'spare key': 0.85, other: 0 }))).toEqual([
      'spare key',
      'spare key?\n',
      'other',
    ]);
    expect(order(await again({ 'spare key?': 1, 'spare key': 0.4, other: 0 }))[0]).toBe('spare key?');
  });

  it('keeps what is reported as similarity, and a single result', async () => {
    const score = async () => {
      throw new Error('not asked');
    };
    const single = rows({ 'spare key': 0.4 });
    expect(await rerank('key', single, { reranker: { score }, signal: undefined })).toEqual(single);
    const [best] = await again({ 'spare key': 0.4, other: 0.3 });
    expect(best).toMatchObject({ text: 'spare key', similarity: 0.7 });
  });

  it('looks at the best, and leaves the others behind them as they were', async () => {
    const texts = Array.from({ length: rerankedCandidates + 3 }, (_, place) => `${place}`);
    const many = Object.fromEntries(texts.map((text, place) => [`text ${text}`, 1 - place / 100]));
    const asked: number[] = [];
    const counting: Reranker = {
      score: async (_, some) => {
        asked.push(some.length);
        return some.map((_text, place) => place);
      },
    };
    const found = order(await rerank('spare', rows(many), { reranker: counting, signal: undefined }));
    expect(asked).toEqual([rerankedCandidates]);
    expect(found.slice(rerankedCandidates)).toEqual(Object.keys(many).slice(rerankedCandidates));
    expect(found.toSorted()).toEqual(Object.keys(many).toSorted());
  });
});
