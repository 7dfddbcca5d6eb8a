import fc from 'fast-check';
import { expect, it } from 'vitest';
import { vectorText } from '../../../src/store/vector-text.ts';

const parse = (text: string) => JSON.parse(text) as number[];

it('writes every vector so that it reads back to six decimals', () => {
  const number = fc.oneof(
    fc.double({ min: -1, max: 1, noNaN: true }),
    fc.constantFrom(0, -0, 1, -1, 1e-7, -4.9e-7, 0.9999996),
  );
  fc.assert(
    fc.property(fc.array(number, { minLength: 1, maxLength: 600 }), (vector) => {
      const read = parse(vectorText(Float64Array.from(vector)));
      expect(read.length).toBe(vector.length);
      for (const [index, value] of vector.entries())
        expect(Math.abs(read[index]! - value)).toBeLessThanOrEqual(5.000001e-7);
    }),
  );
});

it('writes vectors that are not of unit length too', () => {
  expect(parse(vectorText([123.5, -99_999.25, 3]))).toEqual([123.5, -99_999.25, 3]);
  expect(parse(vectorText([9.9999999, 0]))).toEqual([10, 0]);
});
