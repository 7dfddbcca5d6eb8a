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
  /** Default 5,000. */
  everyMs?: number;
}

export interface Scheduler {
  /** One look at everything that may be due. */
  tick(): Promise<void>;
  close(): Promise<void>;
}

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

  const loop = (async () => {
    while (!stop.signal.aborted) {
      await tick().catch((error: unknown) => log.error({ err: error }, 'sweep failed, the next one tries again'));
      await clock.sleep(everyMs, stop.signal);
    }
  })();

  return {
    tick,
    async close() {
      stop.abort();
      await loop;
    },
  };
}
