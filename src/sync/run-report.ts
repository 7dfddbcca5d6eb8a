import { firstOf, lastOf } from '../base/collections.ts';
import type { Clock } from '../base/clock.ts';
import { addToRun, type RunCounters, type RunWarning } from '../store/sync-runs.ts';
import type { RunLease } from './run-lease.ts';

export type WarningCode =
  | 'incomplete_listing'
  | 'invalid_items'
  | 'repeated_items'
  | 'large_page'
  | 'unstable_revisions'
  | 'listing_left_out'
  | 'listing_unsteady'
  | 'sweep_held'
  | 'partition_parked'
  | 'partition_paused';

/** One process's report about a run, gathered between two writes. */
export interface RunReport {
  readonly counters: RunCounters;
  /** Once for each partition and code; null: about the whole connection. */
  warn(partitionId: string | null, code: WarningCode, message: string): void;
  /** How many items a partition has in all. */
  total(partitionId: string, items: number): void;
  /** Writes what is new, if anything is. */
  flush(): Promise<void>;
}

/** The time over which the speed is measured. */
const windowMs = 60_000;
const measureEveryMs = 5_000;

/** `leads`: this process holds the run, and measures its speed; others only add to it. */
export function createRunReport(options: { lease: RunLease; clock: Clock; runId: string; leads: boolean }): RunReport {
  const { lease, clock, runId } = options;
  const counters = emptyCounters();
  const totals = new Map<string, number>();
  const told = new Set<string>();
  const speed = options.leads ? createSpeedometer(clock.now()) : null;
  let warnings: RunWarning[] = [];
  let writtenTotal: number | null = null;

  function isChanged(): boolean {
    return warnings.length > 0 || sum(totals) !== writtenTotal || Object.values(counters).some((count) => count > 0);
  }

  async function flush(): Promise<void> {
    const now = clock.now();
    if (!isChanged() && !speed?.isDue(now)) return;
    const itemsPerSecond = speed?.value() ?? null;
    const taken = { counters: { ...counters }, warnings, itemsTotal: sum(totals), itemsPerSecond };
    Object.assign(counters, emptyCounters());
    warnings = [];
    try {
      const processed = await lease.write((tx) => addToRun(tx, runId, taken, now));
      writtenTotal = taken.itemsTotal;
      speed?.add(now, processed);
    } catch (error) {
      addCounters(counters, taken.counters);
      warnings = [...taken.warnings, ...warnings];
      throw error;
    }
  }

  return {
    counters,
    warn(partitionId, code, message) {
      const key = `${code} ${partitionId ?? ''}`;
      if (told.has(key)) return;
      told.add(key);
      warnings.push({ partitionId, code, message: message.slice(0, 1_000) });
    },
    total: (partitionId, items) => void totals.set(partitionId, items),
    flush,
  };
}

export function emptyCounters(): RunCounters {
  return { itemsSeen: 0, itemsAdded: 0, itemsUpdated: 0, itemsDeleted: 0, itemsSkipped: 0, itemsFailed: 0 };
}

function addCounters(counters: RunCounters, more: RunCounters): void {
  for (const name of Object.keys(more) as (keyof RunCounters)[]) counters[name] += more[name];
}

function sum(totals: ReadonlyMap<string, number>): number | null {
  return totals.size === 0 ? null : [...totals.values()].reduce((all, one) => all + one, 0);
}

/** Items per second over the last minute, of all processes together. */
function createSpeedometer(start: Date) {
  const samples = [{ atMs: start.getTime(), processed: 0 }];
  let value: number | null = null;
  return {
    value: () => value,
    isDue: (now: Date) => now.getTime() - lastOf(samples).atMs >= measureEveryMs,
    add(now: Date, processed: number): void {
      const atMs = now.getTime();
      if (atMs - lastOf(samples).atMs < 1_000) return;
      samples.push({ atMs, processed });
      while (samples.length > 2 && atMs - firstOf(samples).atMs > windowMs) samples.shift();
      const passedMs = atMs - firstOf(samples).atMs;
      if (passedMs > 0) value = ((processed - firstOf(samples).processed) * 1_000) / passedMs;
    },
  };
}
