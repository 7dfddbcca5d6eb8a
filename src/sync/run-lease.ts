import type { Database, Transaction } from '../store/database.ts';
import { assertConnectionHeld, isLeaseLost, type ConnectionLease } from '../store/leases.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { renewConnection } from '../store/connections.ts';
import { runState } from '../store/sync-runs.ts';

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
  /** Writes the progress that is new. */
  report: { flush(): Promise<void> };
  runId: string;
  lease: RunLease;
  /** For how long the holder of the run leases its connection each time; null for one who only joined in. */
  leadsForMs: number | null;
  /** Between two writes of its progress; every second time it is looked at whether it may go on. */
  tickMs: number;
}

const ticksPerLook = 2;

/**
 * While a run goes on: shows its progress, keeps the lease, and notices within about a second that
 * it was cancelled, paused, or lost to another worker.
 */
export function watchRun(options: RunLifeOptions): RunLife {
  const { database, clock, log, report, lease, leadsForMs, tickMs } = options;
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
    const state = await runState(database, options.runId);
    if (!state) return letGo('superseded');
    if (state.cancelled) return letGo('cancelled');
    if (state.connectionStatus !== 'active') return letGo('paused');
    const isLed = leadsForMs !== null || (state.leaseUntil !== null && state.leaseUntil > now);
    if (state.leaseToken !== token || !isLed) letGo('superseded');
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
