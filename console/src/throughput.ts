import type { Run } from './types.ts';

/** What is drawn, in order of time. */
export interface Series {
  /** Since 1970. */
  seconds: number[];
  values: number[];
  /** Whether the times are days, as they are counted in UTC. */
  byDay?: boolean;
}

/** How far a run was at a moment. */
export interface Sample {
  atMs: number;
  processed: number;
}

/** A run that is over sooner is counted as if it had taken so long. */
const shortestRunMs = 1_000;
/** Between two samples of a run; what lies nearer together says more of chance than of the source. */
const sampleEveryMs = 2_000;
const mostSamples = 200;

const perMinute = (items: number, ms: number) => (items * 60_000) / ms;

const handled = ({ itemsAdded, itemsUpdated, itemsDeleted, itemsFailed }: Run) =>
  itemsAdded + itemsUpdated + itemsDeleted + itemsFailed;

/** Items a minute of each run that found something new, the oldest first. */
export function throughputOfRuns(runs: readonly Run[]): Series {
  const working = runs
    .filter((run) => !run.dryRun && run.completedAt !== null && handled(run) > 0)
    .toSorted((one, other) => Date.parse(one.startedAt) - Date.parse(other.startedAt));
  return {
    seconds: working.map(({ startedAt }) => Date.parse(startedAt) / 1_000),
    values: working.map((run) =>
      perMinute(handled(run), Math.max(Date.parse(run.completedAt!) - Date.parse(run.startedAt), shortestRunMs)),
    ),
  };
}

/** With another sample, where it is late enough; of a long run every other one is given up. */
export function withSample(samples: readonly Sample[], sample: Sample): Sample[] {
  const last = samples.at(-1);
  if (last && sample.atMs - last.atMs < sampleEveryMs) return [...samples];
  const all = [...samples, sample];
  return all.length <= mostSamples ? all : all.filter((_, index) => index % 2 === 0);
}

/** Items a minute between each two samples of a run. */
export function throughputOfSamples(samples: readonly Sample[]): Series {
  const pairs = samples.slice(1).map((sample, index) => [samples[index]!, sample] as const);
  return {
    seconds: pairs.map(([, { atMs }]) => atMs / 1_000),
    values: pairs.map(([before, after]) =>
      Math.max(0, perMinute(after.processed - before.processed, after.atMs - before.atMs)),
    ),
  };
}
