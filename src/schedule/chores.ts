import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Database } from '../store/database.ts';
import type { HeldLease } from '../store/leases.ts';
import { sumUpUsage } from '../store/quotas.ts';
import type { Chore } from './scheduler.ts';
import { forgetExpired } from '../store/memories.ts';
import { purgeDeleted } from '../engine/remove.ts';
import { deleteOldAuditEvents } from '../store/audit.ts';
import { deleteEndedConsoleSessions } from '../store/console-sessions.ts';
import { deleteOldDeliveries } from '../store/hooks.ts';
import { deleteOldSnapshots } from '../store/push.ts';
import { deleteOldTextChanges } from '../store/search/text-rows.ts';
import { deleteOldRuns } from '../store/sync-runs.ts';
import { deleteOldErasures } from '../store/erasures.ts';
import { deleteUnusedAnswers } from '../store/language-model.ts';
import { deleteExpiredAnswers } from '../store/kept-answers.ts';
import { deleteOldProcesses } from '../store/processes.ts';
import { deletePendingAuthorizations } from '../store/pending-authorizations.ts';

export interface ChoreOptions {
  database: Database;
  clock: Clock;
  log: Logger;
  /** Subscribes to the hooks of sources and renews them before they end. */
  hooks: { reconcile(signal: AbortSignal, lease: HeldLease): Promise<void> };
  /** Keeps grants alive that nobody uses; see `refreshIdle`. */
  refreshIdle(signal: AbortSignal): Promise<unknown>;
  /** Goes on with removals that a stop of their process has interrupted. */
  connections: { finishRemovals(signal: AbortSignal): Promise<void> };
  /** Goes on with merges of containers in the same way. */
  merges: { runOpen(signal: AbortSignal): Promise<void> };
  /** And with erasures. */
  erasures: { runOpen(signal: AbortSignal): Promise<void> };
  /** Of the embedded database; null: there is another. */
  backups: { runDue(): Promise<void> } | null;
}

const minuteMs = 60_000;

/** Tasks of the leader beside the sweep. */
export function createChores(options: ChoreOptions): Chore[] {
  const cleanUp = createCleanUp(options);
  return [
    { name: 'hooks', everyMs: minuteMs, run: (signal, lease) => options.hooks.reconcile(signal, lease) },
    { name: 'clean-up', everyMs: 60 * minuteMs, run: cleanUp },
    { name: 'idle grants', everyMs: 60 * minuteMs, run: (signal) => options.refreshIdle(signal) },
    { name: 'removals', everyMs: minuteMs, run: (signal) => options.connections.finishRemovals(signal) },
    { name: 'forgetting', everyMs: 10 * minuteMs, run: (signal) => forgetOutdated(options, signal) },
    { name: 'merges', everyMs: minuteMs, run: (signal) => options.merges.runOpen(signal) },
    { name: 'usage', everyMs: minuteMs, run: () => sumUpUsage(options.database) },
    { name: 'erasures', everyMs: minuteMs, run: (signal) => options.erasures.runOpen(signal) },
    { name: 'backups', everyMs: minuteMs, run: async () => options.backups?.runDue() },
  ];
}

const expiredAtOnce = 500;

/** Writes down what is forgotten by now; reads leave it out before. */
export async function forgetOutdated(
  { database, clock }: { database: Database; clock: Clock },
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted && (await forgetExpired(database, clock.now(), expiredAtOnce)) === expiredAtOnce);
}

interface CleanUpOptions {
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
/** Long enough to see which one has ended without saying so. */
const keptProcessesMs = dayMs;
const purgedAtOnce = 200;
/** Whoever holds texts in memory reads them anew after an hour without a search. */
const keptTextChangesMs = 3 * 60 * 60_000;
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
    processes: () => deleteOldProcesses(database, before(keptProcessesMs)),
    'sessions of the console': () => deleteEndedConsoleSessions(database, clock.now()),
    'changes of texts': () => deleteOldTextChanges(database, before(keptTextChangesMs)),
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
