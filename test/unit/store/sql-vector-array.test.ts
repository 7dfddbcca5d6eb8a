import fc from 'fast-check';
import { expect, it } from 'vitest';
import { vectorArray } from '../../../src/store/sql.ts';

/** As PostgreSQL reads it: dimensions, whether it has nulls, oid of the elements, their number, first index, then each with its length. */
function read(bytes: Buffer): number[] {
  const header = [0, 4, 8, 12, 16].map((at) => bytes.readInt32BE(at));
  const count = header[3]!;
  expect(header).toEqual([1, 0, 700, count, 1]);
  expect(bytes.length).toBe(20 + count * 8);
  return Array.from({ length: count }, (_, index) => {
    expect(bytes.readInt32BE(20 + index * 8)).toBe(4);
    return bytes.readFloatBE(24 + index * 8);
  });
}

const vectors = fc.array(fc.option(fc.float32Array({ maxLength: 40, noNaN: true })), { maxLength: 20 });

it('holds every number of every vector, and where each begins and ends', () => {
  fc.assert(
    fc.property(vectors, (given) => {
      const { bytes, starts, ends } = vectorArray(given);
      const numbers = read(bytes);
      expect(numbers.length).toBe(given.reduce((sum, vector) => sum + (vector?.length ?? 0), 0));
      for (const [index, vector] of given.entries()) {
        if (vector === null) expect([starts[index], ends[index]]).toEqual([null, null]);
        else expect(numbers.slice(starts[index]! - 1, ends[index]!)).toEqual([...vector]);
      }
    }),
  );
});

it('takes a part of a larger array, and numbers that are no array of floats', () => {
  const part = new Float32Array([9, 1.5, -2, 9]).subarray(1, 3);
  expect(read(vectorArray([part, [0.25, 3]]).bytes)).toEqual([1.5, -2, 0.25, 3]);
});
