import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Waking } from '../engine/waking.ts';
import { dueConnections } from '../store/connections.ts';
import type { Database } from '../store/database.ts';
import { holdLease, isLeaseLost, releaseLease, whileHeld, type HeldLease } from '../store/leases.ts';
import { countDueDocuments, redriveDocuments } from '../store/processing.ts';
import { failLostRuns } from '../store/sync-runs.ts';

export interface SchedulerOptions {
  database: Database;
  waking: Waking;
  clock: Clock;
  log: Logger;
  /** Names this process; one holder at a time does the work. */
  holder: string;
  /** With an in-process queue every process must wake its own workers. */
  alone: boolean;
  /** Builds and removes the vector index as the number of vectors asks for; cheap when nothing is to be done. */
  vectorIndexes: readonly { ensure(signal: AbortSignal): Promise<unknown> }[];
  /** Periodic tasks of the leader. */
  chores?: readonly Chore[];
  /** Default 5,000. */
  everyMs?: number;
}

/** Work of the leader: at its first look, then at this interval. Must be safe to repeat. */
export interface Chore {
  name: string;
  everyMs: number;
  /** `lease`: what makes this process the leader, to be proved by what must not be written by a former one. */
  run(signal: AbortSignal, lease: HeldLease): Promise<unknown>;
}

export interface Scheduler {
  /** One look at everything that may be due. */
  tick(): Promise<void>;
  /** Resolves when no chore is under way. */
  idle(): Promise<void>;
  close(): Promise<void>;
}

const vectorsEveryMs = 15_000;
const lostRunMs = 10 * 60_000;
const documentsPerTick = 10_000;
/** More than a process syncs until the next look. What is woken twice before it is begun is synced once. */
const connectionsPerTick = 2_000;

/**
 * The sweep that makes the rows the truth: whatever is due (a lost task, a dead worker's lease, a
 * failed document, a connection's next sync) is found again within one interval. One process leads,
 * by a lease that it renews at each look.
 */
export function createScheduler(options: SchedulerOptions): Scheduler {
  const { database, waking, clock, log } = options;
  const everyMs = options.everyMs ?? 5_000;
  const stop = new AbortController();
  const chores = createChores(options, stop.signal);

  async function tick(): Promise<void> {
    const now = clock.now();
    const until = new Date(now.getTime() + everyMs * 3);
    const lease = await holdLease(database, 'scheduler', { holder: options.holder, until, now });
    if (lease) {
      chores.start(now, lease);
      await whileHeld(database, lease, async (tx) => {
        await redriveDocuments(tx, now);
        await failLostRuns(tx, { heartbeatBefore: new Date(now.getTime() - lostRunMs), now });
      });
    }
    if (!lease && !options.alone) return;
    const due = await countDueDocuments(database, now, documentsPerTick);
    if (due > 0) await waking.documents(due);
    for (const id of await dueConnections(database, now, connectionsPerTick)) await waking.connection(id);
  }

  async function repeat(everyThisMs: number, what: string, run: () => Promise<unknown>): Promise<void> {
    while (!stop.signal.aborted) {
      await run().catch((error: unknown) => {
        if (isLeaseLost(error)) log.info({ what }, 'another process has taken over the scheduled work');
        else if (!stop.signal.aborted) log.error({ err: error, what }, 'scheduled work failed, it will be tried again');
      });
      await clock.sleep(everyThisMs, stop.signal);
    }
  }

  // An index build can take minutes, and the sweep must not wait for it.
  const loops = [
    repeat(everyMs, 'sweep', tick),
    repeat(vectorsEveryMs, 'vector index', async () => {
      for (const index of options.vectorIndexes) await index.ensure(stop.signal);
    }),
  ];

  return {
    tick,
    idle: () => chores.idle(),
    async close() {
      stop.abort();
      await Promise.all(loops);
      await chores.idle();
      // So that another process leads at once. A lease that cannot be given back ends by itself.
      await releaseLease(database, 'scheduler', options.holder).catch((error: unknown) =>
        log.debug({ err: error }, 'the lease of the scheduler could not be given back'),
      );
    },
  };
}

/** Starts chores whose time has come. The sweep does not wait for them, and none runs twice at once. */
function createChores({ chores = [], log }: SchedulerOptions, signal: AbortSignal) {
  const running = new Map<Chore, Promise<void>>();
  const dueAtMs = new Map<Chore, number>();

  function begin(chore: Chore, lease: HeldLease): Promise<void> {
    return Promise.resolve()
      .then(() => chore.run(signal, lease))
      .then(() => {})
      .catch((error: unknown) => {
        if (isLeaseLost(error)) log.info({ what: chore.name }, 'another process has taken over the scheduled work');
        else if (!signal.aborted)
          log.error({ err: error, what: chore.name }, 'scheduled work failed, it will be tried again');
      })
      .finally(() => running.delete(chore));
  }

  return {
    start(now: Date, lease: HeldLease): void {
      for (const chore of chores) {
        if (signal.aborted || running.has(chore) || (dueAtMs.get(chore) ?? 0) > now.getTime()) continue;
        dueAtMs.set(chore, now.getTime() + chore.everyMs);
        running.set(chore, begin(chore, lease));
      }
    },
    async idle(): Promise<void> {
      await Promise.all(running.values());
    },
  };
}
