import { describe, expect, it } from 'vitest';
import { bestFirst } from '../../../src/search/results.ts';
import { wordingsOf } from '../../../src/search/read-query.ts';
import { mergeRankings, type Scored } from '../../../src/search/score-candidates.ts';

const row = (id: string, score: number, similarity: number) =>
  ({ id, score, similarity, scores: { words: score, vectors: similarity } }) as Scored;

describe('wordings of a query', () => {
  it.each([
    ['How does Mira like to get updates?', ['How does Mira like to get updates?']],
    [
      'When is the weekly review and where is the spare key?',
      [
        'When is the weekly review and where is the spare key?',
        'weekly review and where is the spare key',
        'weekly review',
        'spare key',
      ],
    ],
    ['harbour crane', ['harbour crane']],
    ['harbour crane?', ['harbour crane?']],
    ['salt and pepper', ['salt and pepper']],
    ['What?', ['What?']],
    ['How do I use the crane and what does it do?', ['How do I use the crane and what does it do?']],
    ['¿Dónde está la llave?', ['¿Dónde está la llave?']],
    ['???', ['???']],
  ])('of %j are %j', (query, expected) => expect(wordingsOf(query)).toEqual(expected));

  it('are at most four, the query first', () => {
    const query = 'red house and blue boat and green tree and grey stone and white sand';
    expect(wordingsOf(query)).toEqual([query, 'red house', 'blue boat', 'green tree']);
  });

  it('lead to one list: what several of them found gains, with its best similarity', () => {
    const merged = mergeRankings([
      [row('a', 1, 0.7), row('b', 0.8, 0.65)],
      [row('c', 0.9, 0.8), row('b', 0.5, 0.9)],
    ]);
    expect(merged.sort(bestFirst).map(({ id, similarity }) => [id, similarity])).toEqual([
      ['b', 0.9],
      ['a', 0.7],
      ['c', 0.8],
    ]);
  });
});
