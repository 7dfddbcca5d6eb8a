import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { renewConnection } from '../store/connections.ts';
import type { Database } from '../store/database.ts';
import { runState } from '../store/sync-runs.ts';
import type { RunReport } from './run-report.ts';

/** Why a worker had to let go of a run. */
export type LetGo = 'cancelled' | 'paused' | 'taken';

export interface RunLife {
  /** Set before the signal aborts. */
  readonly reason: LetGo | null;
  /** Aborts when the run must end. */
  readonly signal: AbortSignal;
  /** Ends the watching and writes what is left to tell. */
  close(): Promise<void>;
}

export interface RunLifeOptions {
  database: Database;
  clock: Clock;
  log: Logger;
  report: RunReport;
  runId: string;
  connectionId: string;
  /** The lease of the run's holder; null for one who only joined in. */
  lease: { token: string; ms: number } | null;
}

const tickMs = 500;
const ticksPerLook = 2;

/**
 * While a run goes on: shows its progress, keeps the lease, and notices within about a second that
 * it was cancelled, paused, or lost to another worker.
 */
export function watchRun(options: RunLifeOptions): RunLife {
  const { database, clock, log, report, lease } = options;
  const closed = new AbortController();
  const lost = new AbortController();
  let reason: LetGo | null = null;
  let renewAt = clock.now().getTime() + (lease ? lease.ms / 3 : Infinity);

  function letGo(why: LetGo): void {
    reason ??= why;
    lost.abort(new Error(`the run was ${why}`));
  }

  async function look(now: Date): Promise<void> {
    const state = await runState(database, options.runId);
    if (!state) return letGo('taken');
    if (state.cancelled) return letGo('cancelled');
    if (state.connectionStatus !== 'active') return letGo('paused');
    const isHeld = lease
      ? state.leaseToken === lease.token
      : state.runStatus === 'running' && state.leaseUntil !== null && state.leaseUntil > now;
    if (!isHeld) letGo('taken');
  }

  async function renew(now: Date): Promise<void> {
    if (!lease || now.getTime() < renewAt) return;
    renewAt = now.getTime() + lease.ms / 3;
    const until = new Date(now.getTime() + lease.ms);
    await renewConnection(database, options.connectionId, { token: lease.token, until, now });
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
        log.warn({ err: error, connectionId: options.connectionId }, 'progress could not be written');
      }
    }
  }

  const watching = watch();
  return {
    get reason() {
      return reason;
    },
    signal: lost.signal,
    async close() {
      closed.abort();
      await watching;
      await report.flush();
    },
  };
}
