import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { purgeDeleted } from '../engine/remove.ts';
import { deleteOldAuditEvents } from '../store/audit.ts';
import { deleteEndedConsoleSessions } from '../store/console-sessions.ts';
import { deleteOldDeliveries, deleteOldRuns, deleteOldSnapshots } from '../store/clean-up.ts';
import type { Database } from '../store/database.ts';
import { deleteOldErasures } from '../store/erasures.ts';
import { deleteUnusedAnswers } from '../store/language-model.ts';
import { deleteExpiredAnswers } from '../store/kept-answers.ts';
import { deletePendingAuthorizations } from '../store/pending-authorizations.ts';

export interface CleanUpOptions {
  database: Database;
  clock: Clock;
  log: Logger;
}

const dayMs = 24 * 60 * 60_000;
const keptRunsMs = 30 * dayMs;
const keptRuns = 100;
/** A connection that hints every second would keep millions in 30 days. */
const mostRuns = 10_000;
/** Longer than any source and any script repeats a request. */
const keptDeliveriesMs = 7 * dayMs;
const keptSnapshotsMs = 7 * dayMs;
const keptAuditMs = 90 * dayMs;
/** How long a removal at the source can be undone. */
const keptHiddenMs = 7 * dayMs;
const purgedAtOnce = 200;
/** Documents that change are read again soon; those that do not need no answer. */
const keptAnswersMs = 90 * dayMs;
const mostAnswers = 100_000;

/** Deletes what is past its time. Each part is on its own: one that fails is tried again the next time. */
export function createCleanUp({ database, clock, log }: CleanUpOptions): (signal: AbortSignal) => Promise<void> {
  const before = (ms: number) => new Date(clock.now().getTime() - ms);

  async function purge(signal: AbortSignal): Promise<void> {
    const options = { before: before(keptHiddenMs), batch: purgedAtOnce, now: clock.now() };
    while (!signal.aborted && (await purgeDeleted(database, options)) === purgedAtOnce);
  }

  const parts: Record<string, (signal: AbortSignal) => Promise<unknown>> = {
    'removed documents': purge,
    'sync runs': () =>
      deleteOldRuns(database, { startedAfter: before(keptRunsMs), atLeast: keptRuns, atMost: mostRuns }),
    deliveries: () => deleteOldDeliveries(database, before(keptDeliveriesMs)),
    'kept answers': () => deleteExpiredAnswers(database, clock.now()),
    snapshots: () => deleteOldSnapshots(database, before(keptSnapshotsMs)),
    'answers of the language model': () => deleteUnusedAnswers(database, before(keptAnswersMs), mostAnswers),
    erasures: () => deleteOldErasures(database, before(keptAuditMs)),
    'security log': () => deleteOldAuditEvents(database, before(keptAuditMs)),
    'sessions of the console': () => deleteEndedConsoleSessions(database, clock.now()),
    'pending authorizations': () => deletePendingAuthorizations(database, clock.now()),
  };
  return async (signal) => {
    for (const [part, run] of Object.entries(parts)) {
      await run(signal).catch((error: unknown) =>
        log.error({ err: error, part }, 'clean-up failed, the next time tries again'),
      );
    }
  };
}
