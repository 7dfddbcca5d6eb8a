import { expect, it } from 'vitest';
import { createGathering } from '../../../src/base/concurrency.ts';

/** Work that fails for negative numbers: for -1 by its own fault. */
function createWork() {
  const runs: number[][] = [];
  const add = createGathering<number, number>({
    most: 3,
    isOfOne: (error) => error instanceof RangeError,
    async run(inputs) {
      runs.push([...inputs]);
      if (inputs.includes(-1)) throw new RangeError('negative');
      if (inputs.includes(-2)) throw new Error('all of it');
      return inputs.map((input) => input * 10);
    },
  });
  return { runs, add };
}

it('begins at once, and does together what came meanwhile, in order', async () => {
  const work = createWork();
  const results = Promise.all([1, 2, 3, 4, 5].map(work.add));
  expect(work.runs).toEqual([[1]]);
  expect(await results).toEqual([10, 20, 30, 40, 50]);
  expect(work.runs).toEqual([[1], [2, 3, 4], [5]]);
  expect(await work.add(6)).toBe(60);
});

it('a bad one fails alone', async () => {
  const work = createWork();
  const ends = await Promise.allSettled([1, 2, -1, 4].map(work.add));
  expect(ends.map((end) => (end.status === 'fulfilled' ? end.value : String(end.reason)))).toEqual([
    10,
    20,
    'RangeError: negative',
    40,
  ]);
  expect(work.runs).toEqual([[1], [2, -1, 4], [2], [-1], [4]]);
});

it('a failure of everything is told to all, once', async () => {
  const work = createWork();
  const ends = await Promise.allSettled([1, 2, -2].map(work.add));
  expect(ends.map((end) => end.status)).toEqual(['fulfilled', 'rejected', 'rejected']);
  expect(work.runs).toEqual([[1], [2, -2]]);
});
