import { describe, expect, it } from 'vitest';
import { comparisonOf } from '../../../src/models/comparison.ts';
import type { Tokenizer } from '../../../src/models/tokenizer.ts';

/** A token for each word, its number; 1 and 2 frame a text. */
const tokenizer = {
  start: [1],
  end: [2],
  encode: (text: string, most: number) => text.split(' ').filter(Boolean).map(Number).slice(0, most),
} as unknown as Tokenizer;
const compare = (query: string, texts: string[]) => comparisonOf(tokenizer, query, { texts, maxTokens: 256 });
const filler = (count: number) => Array.from({ length: count }, () => '9').join(' ');

describe('what a query is compared with', () => {
  it('is a text between the tokens that frame it', () => {
    const { question, texts } = compare('10 11', ['10 12', '']);
    expect([...question.tokens]).toEqual([1, 10, 11, 2]);
    expect(texts.map((tokens) => [...tokens])).toEqual([
      [1, 10, 12, 2],
      [1, 2],
    ]);
  });

  it('is that part of a long text which holds most of the query', () => {
    const [early, late, none] = compare('10 11', [
      `10 11 ${filler(200)} 10`,
      `10 ${filler(200)} 11 10 ${filler(5)}`,
      filler(200),
    ]).texts;
    expect(early).toHaveLength(18);
    expect([...early!].slice(0, 3)).toEqual([1, 10, 11]);
    expect(late).toHaveLength(18);
    expect([...late!]).toEqual(expect.arrayContaining([10, 11]));
    expect(none).toHaveLength(18);
  });

  it('weighs the tokens of the query by how few of the texts hold them', () => {
    const [common, rare, nowhere] = compare('10 11 12', ['10 11', '10', '10']).question.weights;
    expect(rare).toBeGreaterThan(common!);
    expect(nowhere).toBeGreaterThan(rare!);
  });

  it('counts empty words only where there are no others', () => {
    const words = new Map<string, number>();
    const numberOf = (word: string) => words.get(word) ?? words.set(word, words.size + 10).get(word)!;
    const ofWords: Tokenizer = {
      ...{ start: [1], end: [2] },
      encode: (text, most) => (text.match(/\w+|[^\w\s]/g) ?? []).slice(0, most).map(numberOf),
    };
    const weightsOf = (query: string) => [
      ...comparisonOf(ofWords, query, { texts: ['a kiln', 'x'], maxTokens: 256 }).question.weights,
    ];
    expect(weightsOf('what is a kiln ?').map(Math.sign)).toEqual([0, 0, 0, 1, 0]);
    expect(weightsOf('what is it ?').map(Math.sign)).toEqual([1, 1, 1, 1]);
  });
});
