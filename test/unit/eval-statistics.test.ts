import { describe, expect, it } from 'vitest';
import { isSameStatement, matched } from '../../scripts/eval/statements.ts';
import { estimate, ndcgAt, recallAt } from '../../scripts/eval/statistics.ts';

describe('figures of the evaluation', () => {
  const relevant = new Map([
    ['a', 2],
    ['b', 1],
  ]);

  it('recall counts what is relevant among the first, nDCG its order', () => {
    expect(recallAt(['x', 'a', 'b'], relevant, 2)).toBe(0.5);
    expect(recallAt(['x', 'a', 'b'], relevant, 3)).toBe(1);
    expect(ndcgAt(['a', 'b'], relevant, 10)).toBe(1);
    expect(ndcgAt(['b', 'a'], relevant, 10)).toBeCloseTo((1 + 3 / Math.log2(3)) / (3 + 1 / Math.log2(3)));
    expect(ndcgAt(['x', 'y'], relevant, 10)).toBe(0);
  });

  it('an estimate lies within its bounds, the same each time', () => {
    const values = Array.from({ length: 50 }, (_, place) => place % 2);
    const first = estimate(values);
    expect(first).toMatchObject({ mean: 0.5, count: 50 });
    expect(first.low).toBeLessThan(0.5);
    expect(first.high).toBeGreaterThan(0.5);
    expect(estimate(values)).toEqual(first);
  });

  it('statements are the same in other words, not with other numbers or a negation', () => {
    expect(isSameStatement('Lena moved to Bonn yesterday (2026-03-03).', 'Lena moved to Bonn yesterday')).toBe(true);
    expect(isSameStatement('Lena has two cats and 3 dogs.', 'Lena has two cats and 4 dogs.')).toBe(false);
    expect(isSameStatement('Lena eats meat.', "Lena doesn't eat meat.")).toBe(false);
    expect(matched(['Lena lives in Bonn.'], ['Lena lives in Bonn', 'Tom lives in Ghent'])).toEqual({
      right: ['Lena lives in Bonn.'],
      wrong: [],
      missed: ['Tom lives in Ghent'],
    });
  });
});
