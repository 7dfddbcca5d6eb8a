import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stretch } from '../../../src/search/score-candidates.ts';

const values = fc.array(
  fc.integer({ min: -1_000, max: 1_000 }).map((value) => value / 8),
  { minLength: 1, maxLength: 30 },
);

describe('stretching scores to 0…1', () => {
  it('reaches both ends, keeps the order, and ignores the scale', () => {
    fc.assert(
      fc.property(values, fc.constantFrom(0.25, 2, 64), fc.integer({ min: -50, max: 50 }), (scores, factor, shift) => {
        const stretched = scores.map(stretch(scores));
        const moved = scores.map((value) => value * factor + shift);
        expect(moved.map(stretch(moved))).toEqual(stretched);
        expect(Math.max(...stretched)).toBe(1);
        expect(Math.min(...stretched)).toBe(new Set(scores).size > 1 ? 0 : 1);
        for (const [index, value] of scores.entries()) {
          for (const [other, lower] of scores.entries()) {
            if (lower < value) expect(stretched[other]!).toBeLessThan(stretched[index]!);
          }
        }
      }),
    );
  });
});
