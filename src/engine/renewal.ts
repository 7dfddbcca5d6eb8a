import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Database } from '../store/database.ts';
import { renewLeases } from '../store/processing.ts';

/** The renewal also says how far the documents are. */
const mostRenewalMs = 5_000;

export interface Renewing {
  database: Database;
  clock: Clock;
  log: Logger;
  leaseMs: number;
}

interface Held {
  leaseToken: string;
  /** How far each document is. */
  stages: ReadonlyMap<string, string>;
}

/** Renews a lease while its documents are worked on; the renewal also publishes how far each is. */
export async function withRenewal(
  { database, clock, log, leaseMs }: Renewing,
  { leaseToken, stages }: Held,
  run: () => Promise<void>,
): Promise<void> {
  const done = new AbortController();
  const renewal = (async () => {
    while (!done.signal.aborted) {
      await clock.sleep(Math.min(leaseMs / 3, mostRenewalMs), done.signal);
      if (done.signal.aborted) return;
      const rows = [...stages].map(([id, status]) => ({ id, status }));
      const leaseUntil = new Date(clock.now().getTime() + leaseMs);
      await renewLeases(database, rows, { leaseToken, leaseUntil }).catch((error: unknown) =>
        log.warn({ err: error }, 'lease renewal failed'),
      );
    }
  })();
  try {
    await run();
  } finally {
    done.abort();
    await renewal;
  }
}
