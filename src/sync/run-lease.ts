import type { Clock } from '../base/clock.ts';
import { firstOf, lastOf } from '../base/collections.ts';
import type { Logger } from '../base/log.ts';
import { storableText } from '../base/storable.ts';
import { renewConnection } from '../store/connections.ts';
import type { Database, Transaction } from '../store/database.ts';
import { assertConnectionHeld, isLeaseLost, type ConnectionLease } from '../store/leases.ts';
import { runState, addToRun, type RunCounters, type RunState, type RunWarning } from '../store/sync-runs.ts';

/**
 * The lease of a run on its connection, and its access to the database. A run reads freely, and writes only
 * here, so that one that was stopped and then went on changes nothing once another has the connection.
 */
export interface RunLease extends Readonly<ConnectionLease> {
  /** Aborts when a write was refused because another run has the connection. */
  readonly lost: AbortSignal;
  /** Runs a transaction of the run. Throws `lease_lost` instead when another run has the connection. */
  write<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
  /** The same for work that must not go on twice at a time. */
  writeAlone<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
}

export function openRunLease(database: Database, lease: ConnectionLease): RunLease {
  const lost = new AbortController();

  async function transact<T>(strength: 'beside others' | 'alone', work: (tx: Transaction) => Promise<T>): Promise<T> {
    try {
      return await database.transaction(async (tx) => {
        await assertConnectionHeld(tx, lease, strength);
        return work(tx);
      });
    } catch (error) {
      if (isLeaseLost(error)) lost.abort(error);
      throw error;
    }
  }

  return {
    ...lease,
    lost: lost.signal,
    write: (work) => transact('beside others', work),
    writeAlone: (work) => transact('alone', work),
  };
}

/** Why a worker had to let go of a run. */
export type LetGo = 'cancelled' | 'paused' | 'superseded';

interface RunLife {
  /** Set before the signal aborts. */
  readonly reason: LetGo | null;
  /** Aborts when the run must end. */
  readonly signal: AbortSignal;
  /** Ends the watching and writes what is left to tell. */
  close(): Promise<void>;
}

interface RunLifeOptions {
  database: Database;
  clock: Clock;
  log: Logger;
  settings: {
    /** For how long the holder of the run leases its connection each time. */
    connectionLeaseMs: number;
    /** Between two writes of its progress; every second time it is looked at whether it may go on. */
    tickMs: number;
  };
}

interface WatchedRun {
  id: string;
  lease: RunLease;
  /** Writes the progress that is new. */
  report: { flush(): Promise<void> };
  /** This process holds the run, and did not only join in. */
  leads: boolean;
}

const ticksPerLook = 2;

/**
 * While a run goes on: shows its progress, keeps the lease, and notices within about a second that
 * it was cancelled, paused, or lost to another worker.
 */
export function watchRun(
  { database, clock, log, settings: { connectionLeaseMs, tickMs } }: RunLifeOptions,
  { id, lease, report, leads }: WatchedRun,
): RunLife {
  const leadsForMs = leads ? connectionLeaseMs : null;
  const { connectionId, token } = lease;
  const closed = new AbortController();
  const lost = new AbortController();
  let reason: LetGo | null = null;
  let renewAt = clock.now().getTime() + (leadsForMs ?? Infinity) / 3;

  function letGo(why: LetGo): void {
    reason ??= why;
    lost.abort(new Error(`the run was ${why}`));
  }

  async function look(now: Date): Promise<void> {
    const why = whyToLetGo(await runState(database, id), { token, leads, now });
    if (why) letGo(why);
  }

  async function renew(now: Date): Promise<void> {
    if (leadsForMs === null || now.getTime() < renewAt) return;
    renewAt = now.getTime() + leadsForMs / 3;
    await renewConnection(database, connectionId, { token, until: new Date(now.getTime() + leadsForMs), now });
  }

  async function watch(): Promise<void> {
    for (let tick = 1; !closed.signal.aborted; tick++) {
      await clock.sleep(tickMs, closed.signal);
      if (closed.signal.aborted) return;
      try {
        await report.flush();
        await renew(clock.now());
        if (tick % ticksPerLook === 0) await look(clock.now());
      } catch (error) {
        if (!lease.lost.aborted) log.warn({ err: error, connectionId }, 'progress could not be written');
      }
    }
  }

  const supersede = () => letGo('superseded');
  lease.lost.addEventListener('abort', supersede, { once: true });
  const watching = watch();
  return {
    get reason() {
      return reason;
    },
    signal: lost.signal,
    async close() {
      closed.abort();
      await watching;
      lease.lost.removeEventListener('abort', supersede);
      if (!lease.lost.aborted) await report.flush();
    },
  };
}

function whyToLetGo(
  state: RunState | null,
  { token, leads, now }: { token: string; leads: boolean; now: Date },
): LetGo | null {
  if (!state) return 'superseded';
  if (state.cancelled) return 'cancelled';
  if (state.connectionStatus !== 'active') return 'paused';
  const isLed = leads || (state.leaseUntil !== null && state.leaseUntil > now);
  return state.leaseToken === token && isLed ? null : 'superseded';
}

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
      warnings.push({ partitionId, code, message: storableText(message, 1_000) });
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
