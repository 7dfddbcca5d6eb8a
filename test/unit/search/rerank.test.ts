import { describe, expect, it } from 'vitest';
import { rerank } from '../../../src/search/rerank.ts';
import { wordReranker } from '../../../src/search/word-reranker.ts';

interface Row {
  text: string;
  score: number;
  similarity: number;
}

const rows = (texts: Record<string, number>) =>
  Object.entries(texts).map(([text, score]): Row => ({ text, score, similarity: 0.7 }));
const order = (found: readonly Row[]) => found.map(({ text }) => text);

describe('scoring candidates again', () => {
  const spare = 'The spare key hangs in the shed.';
  const apart = 'The key was lost. A spare part is in the car. The shed is red.';

  it('puts before the others what is closer, unless the first ranking was very sure', async () => {
    const again = (texts: Record<string, number>) =>
      rerank('spare key shed', rows(texts), { reranker: wordReranker, signal: undefined });
    expect(order(await again({ [apart]: 0.82, [spare]: 0.8, other: 0.1 }))).toEqual([spare, apart, 'other']);
    expect(order(await again({ [apart]: 1, [spare]: 0.1, other: 0 }))).toEqual([apart, spare, 'other']);
  });

  it('keeps what is reported as similarity, and a single result', async () => {
    const score = async () => {
      throw new Error('not asked');
    };
    const single = rows({ [spare]: 0.4 });
    expect(await rerank('key', single, { reranker: { score }, signal: undefined })).toEqual(single);
    const [best] = await rerank('spare key', rows({ [spare]: 0.4, other: 0.3 }), {
      reranker: wordReranker,
      signal: undefined,
    });
    expect(best).toMatchObject({ text: spare, similarity: 0.7 });
  });

  it('by words counts those that stand in one sentence, by their stems', async () => {
    expect(await wordReranker.score('spare keys shed', [spare, apart, '', 'nothing'])).toEqual([1, 1 / 3, 0, 0]);
    expect(await wordReranker.score('', [spare])).toEqual([0]);
  });
});
