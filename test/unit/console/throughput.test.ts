import { expect, it } from 'vitest';
import { throughputOfRuns, throughputOfSamples, withSample, type Sample } from '../../../console/src/throughput.ts';
import type { Run } from '../../../console/src/types.ts';

/** A run that looked at 100 items, of which so many were new. */
const run = (startedAt: string, seconds: number | null, itemsAdded: number, dryRun = false) =>
  ({
    startedAt,
    completedAt: seconds === null ? null : new Date(Date.parse(startedAt) + seconds * 1_000).toISOString(),
    ...{ itemsAdded, itemsUpdated: 0, itemsDeleted: 0, itemsFailed: 0, itemsProcessed: 100 },
    dryRun,
  }) as Run;

it('is that of each run which found something new, in order', () => {
  const runs = [
    run('2026-03-03T00:00:00Z', 30, 10),
    run('2026-03-04T00:00:00Z', null, 5),
    run('2026-03-02T00:00:00Z', 0.01, 3),
    run('2026-03-01T12:00:00Z', 20, 0),
    run('2026-03-01T00:00:00Z', 60, 100, true),
  ];
  const { seconds, values } = throughputOfRuns(runs);
  expect(seconds.map((second) => new Date(second * 1_000).getUTCDate())).toEqual([2, 3]);
  expect(values).toEqual([180, 20]);
});

it('is that between the samples of a run that goes on', () => {
  const samples = [
    { atMs: 0, processed: 0 },
    { atMs: 500, processed: 7 },
    { atMs: 6_000, processed: 20 },
    { atMs: 12_000, processed: 50 },
  ].reduce<Sample[]>(withSample, []);
  expect(throughputOfSamples(samples)).toEqual({ seconds: [6, 12], values: [200, 300] });
});

it('has a bounded number of samples, however long a run is', () => {
  const samples = Array.from({ length: 5_000 }, (_, index) => ({ atMs: index * 3_000, processed: index }));
  const kept = samples.reduce<Sample[]>(withSample, []);
  expect(kept.length).toBeLessThanOrEqual(200);
  expect(kept.at(0)).toEqual({ atMs: 0, processed: 0 });
  expect(throughputOfSamples(kept).values.every((value) => value === 20)).toBe(true);
});
