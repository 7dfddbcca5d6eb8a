import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Waking } from '../engine/process.ts';
import { dueConnections } from '../store/connections.ts';
import type { Database } from '../store/database.ts';
import { holdLease, isLeaseLost, releaseLease, whileHeld, type HeldLease } from '../store/leases.ts';
import { countDueDocuments, redriveDocuments } from '../store/processing.ts';
import { failLostRuns, deleteOldRuns } from '../store/sync-runs.ts';
import { sumUpUsage } from '../store/quotas.ts';
import { forgetExpired } from '../store/memories.ts';
import { purgeDeleted } from '../engine/remove.ts';
import { deleteOldAuditEvents } from '../store/audit.ts';
import { deleteEndedConsoleSessions } from '../store/console-sessions.ts';
import { deleteOldDeliveries } from '../store/hooks.ts';
import { deleteOldSnapshots } from '../store/push.ts';
import { deleteOldTextChanges } from '../store/search/text-rows.ts';
import { deleteOldErasures } from '../store/erasures.ts';
import { deleteUnusedAnswers } from '../store/language-model.ts';
import { deleteExpiredAnswers } from '../store/kept-answers.ts';
import { deleteOldProcesses } from '../store/processes.ts';
import { deletePendingAuthorizations } from '../store/pending-authorizations.ts';

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
const lookEveryMs = 5_000;

/**
 * The sweep that makes the rows the truth: whatever is due (a lost task, a dead worker's lease, a
 * failed document, a connection's next sync) is found again within one interval. One process leads,
 * by a lease that it renews at each look.
 */
export function createScheduler(options: SchedulerOptions): Scheduler {
  const { database, waking, clock, log } = options;
  const stop = new AbortController();
  const chores = createChoreRunner(options, stop.signal);

  async function tick(): Promise<void> {
    const now = clock.now();
    const until = new Date(now.getTime() + lookEveryMs * 3);
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
    repeat(lookEveryMs, 'sweep', tick),
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
function createChoreRunner({ chores = [], log }: SchedulerOptions, signal: AbortSignal) {
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
