import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Waking } from '../engine/waking.ts';
import { dueConnections } from '../store/connections.ts';
import type { Database } from '../store/database.ts';
import { holdLease } from '../store/leases.ts';
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
  vectorIndex: { ensure(signal: AbortSignal): Promise<unknown> };
  /** Default 5,000. */
  everyMs?: number;
}

export interface Scheduler {
  /** One look at everything that may be due. */
  tick(): Promise<void>;
  close(): Promise<void>;
}

const vectorsEveryMs = 15_000;
const lostRunMs = 10 * 60_000;
const documentsPerTick = 10_000;
const connectionsPerTick = 100;

/**
 * The sweep that makes the rows the truth: whatever is due (a lost task, a dead worker's lease, a
 * failed document, a connection's next sync) is found again within one interval.
 */
export function createScheduler(options: SchedulerOptions): Scheduler {
  const { database, waking, clock, log } = options;
  const everyMs = options.everyMs ?? 5_000;
  const stop = new AbortController();

  async function tick(): Promise<void> {
    const now = clock.now();
    const until = new Date(now.getTime() + everyMs * 3);
    const leads = await holdLease(database, 'scheduler', { holder: options.holder, until, now });
    if (leads) {
      await redriveDocuments(database, now);
      await failLostRuns(database, { heartbeatBefore: new Date(now.getTime() - lostRunMs), now });
    }
    if (!leads && !options.alone) return;
    const due = await countDueDocuments(database, now, documentsPerTick);
    if (due > 0) await waking.documents(due);
    for (const id of await dueConnections(database, now, connectionsPerTick)) await waking.connection(id);
  }

  async function repeat(everyThisMs: number, what: string, run: () => Promise<unknown>): Promise<void> {
    while (!stop.signal.aborted) {
      await run().catch((error: unknown) => {
        if (!stop.signal.aborted) log.error({ err: error, what }, 'scheduled work failed, the next time tries again');
      });
      await clock.sleep(everyThisMs, stop.signal);
    }
  }

  // An index build can take minutes, and the sweep must not wait for it.
  const loops = [
    repeat(everyMs, 'sweep', tick),
    repeat(vectorsEveryMs, 'vector index', () => options.vectorIndex.ensure(stop.signal)),
  ];

  return {
    tick,
    async close() {
      stop.abort();
      await Promise.all(loops);
    },
  };
}
