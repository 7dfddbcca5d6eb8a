import { expect, it } from 'vitest';
import { growthSeries } from '../../../console/src/growth.ts';

const today = new Date('2026-03-04T23:00:00Z');

it('counts the documents of each day, quiet ones too', () => {
  const { seconds, documents } = growthSeries(
    [
      { day: '2026-03-01', documents: 5 },
      { day: '2026-03-03', documents: 2 },
    ],
    10,
    today,
  );
  expect(seconds.map((at) => new Date(at * 1_000).toISOString().slice(0, 10))).toEqual([
    '2026-03-01',
    '2026-03-02',
    '2026-03-03',
    '2026-03-04',
  ]);
  expect(documents).toEqual([8, 8, 10, 10]);
});

it('is today alone where nothing was added lately', () => {
  expect(growthSeries([], 7, today).documents).toEqual([7]);
});
