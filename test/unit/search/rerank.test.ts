import { describe, expect, it } from 'vitest';
import type { Reranker } from '../../../src/models/reranker.ts';
import { scoreAgain } from '../../../src/search/rerank.ts';
import type { Scored } from '../../../src/search/score-candidates.ts';

/** By its text, which is also the id. */
const rows = (texts: Record<string, number>, type: Scored['type'] = 'turn') =>
  Object.entries(texts).map(([id, score]): Scored => ({
    ...{
      id,
      kind: 'chunk',
      type,
      length: 2,
      statement: null,
      isMined: false,
      isLone: false,
      scoreAsText: null,
      turn: null,
      places: [],
    },
    ...{ score, similarity: 0.7, scores: { words: 0, vectors: 0.7 } },
  }));
const textsOf = (ranked: readonly Scored[]) => new Map(ranked.map(({ id }) => [id, id]));
const order = (found: readonly Scored[]) => found.toSorted((a, b) => b.score - a.score).map(({ id }) => id);

/** Finds those close that begin as the query does. */
const reranker: Reranker = {
  score: async (query, texts) => texts.map((text) => (text.startsWith(query) ? 1 : 0)),
};
const again = (query: string, ranked: Scored[]) => scoreAgain(ranked, { query, texts: textsOf(ranked), reranker });

describe('scoring candidates again', () => {
  it('puts before the others what is closer, unless the first ranking was very sure', async () => {
    const near = await again('spare', rows({ apart: 0.82, 'spare key': 0.8, other: 0.1 }));
    expect(order(near)).toEqual(['spare key', 'apart', 'other']);
    const sure = await again('spare', rows({ apart: 1, 'spare key': 0.1, other: 0 }));
    expect(order(sure)).toEqual(['apart', 'spare key', 'other']);
  });

  it('counts less for passages of pages, of which a part is read', async () => {
    const texts = { apart: 0.82, 'spare key': 0.6, other: 0.1 };
    expect(order(await again('spare', rows(texts, 'turn')))[0]).toBe('spare key');
    expect(order(await again('spare', rows(texts, 'text')))[0]).toBe('apart');
  });

  it('prefers what tells a time where one is asked for, and who is asked about', async () => {
    const told = rows({
      'Nora: The keys are here.': 0.52,
      'Nora: On 15 March.': 0.5,
      'Felix: On 15 March.': 0.5,
      x: 0,
    });
    const [first, second] = order(await again('When does Nora get the keys?', told));
    expect([first, second]).toEqual(['Nora: On 15 March.', 'Nora: The keys are here.']);
  });

  it('keeps the similarity, and the scores of those that were not read', async () => {
    const ranked = rows({ 'spare key': 0.4, other: 0.3, unread: 0.9 });
    const texts = new Map([...textsOf(ranked)].filter(([id]) => id !== 'unread'));
    const found = await scoreAgain(ranked, { query: 'spare', texts, reranker });
    expect(found.map(({ id }) => id)).toEqual(['spare key', 'other', 'unread']);
    expect(found.map(({ similarity }) => similarity)).toEqual([0.7, 0.7, 0.7]);
    expect(found[2]).toEqual(ranked[2]);
    expect(ranked[0]!.score).toBe(0.4);
  });

  it('asks nothing about a single text', async () => {
    const score = async () => {
      throw new Error('not asked');
    };
    const single = rows({ 'spare key': 0.4 });
    expect(await scoreAgain(single, { query: 'key', texts: textsOf(single), reranker: { score } })).toEqual(single);
  });
});
