import type { Clock } from '../base/clock.ts';
import { MemorydError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { Database } from '../store/database.ts';
import { endRewriting, erasuresToRewrite, noteRewritingProblem } from '../store/erasures.ts';
import { holdLease, releaseLease } from '../store/leases.ts';
import {
  clearStatistics,
  emptyLog,
  isSeenBySome,
  momentOf,
  rewriteTable,
  tablesToRewrite,
} from '../store/rewrite-files.ts';

/** Rewrites the files of the database for erasures whose rows are gone; one process does it for all. */
export interface Rewriting {
  run(signal: AbortSignal): Promise<void>;
  /** After the answer. */
  runLater(): void;
  close(): Promise<void>;
}

const role = 'erasing';
/** Longer than the largest table takes; after a crash others wait as long. */
const leaseMs = 30 * 60_000;
const lookEveryMs = 200;
/** How long transactions that began before may take; the longest of our own ends in seconds. */
const patienceMs = 60_000;
const retryMs = 10 * 60_000;
/**
 * Every erasure rewrites whole tables and their vector index, and the embedded database does
 * nothing else meanwhile. What comes soon after waits, so that all of it together takes at most a fifth of the time.
 */
const restShare = 4;
/** Rewriting that takes less time than this needs no rest. */
const shortMs = 2_000;

interface RewritingOptions {
  database: Database;
  clock: Clock;
  log: Logger;
  /** Names this process among those that could rewrite. */
  holder: string;
}

export function createRewriting(options: RewritingOptions): Rewriting {
  const { database, clock, log, holder } = options;
  const stop = new AbortController();
  let turn: Promise<void> = Promise.resolve();
  let restUntilMs = 0;

  async function runOnce(signal: AbortSignal): Promise<void> {
    const ids = await erasuresToRewrite(database, new Date(clock.now().getTime() - retryMs));
    if (ids.length === 0 || signal.aborted || !(await keepLease(options))) return;
    const begunMs = clock.now().getTime();
    try {
      await rewriteAll(options, ids, signal);
    } catch (error) {
      log.error({ err: error, erasures: ids.length }, 'files were not rewritten, it is tried again');
      const problem = MemorydError.is(error) ? error.message : 'The database did not rewrite its files; see the log.';
      await noteRewritingProblem(database, ids, problem, clock.now());
    } finally {
      const tookMs = clock.now().getTime() - begunMs;
      if (tookMs >= shortMs) restUntilMs = clock.now().getTime() + tookMs * restShare;
      await releaseLease(database, role, holder);
    }
  }

  async function rest(signal: AbortSignal): Promise<void> {
    await clock.sleep(restUntilMs - clock.now().getTime(), signal);
  }

  function run(signal: AbortSignal): Promise<void> {
    const ended = AbortSignal.any([signal, stop.signal]);
    turn = turn
      .then(() => rest(ended))
      .then(() => runOnce(ended))
      .catch((error: unknown) => log.error({ err: error }, 'erasing stopped, it will be resumed'));
    return turn;
  }

  return {
    run,
    runLater: () => void run(stop.signal),
    async close() {
      stop.abort();
      await turn;
    },
  };
}

function keepLease({ database, clock, holder }: RewritingOptions) {
  const now = clock.now();
  return holdLease(database, role, { holder, now, until: new Date(now.getTime() + leaseMs) });
}

async function rewriteAll(options: RewritingOptions, ids: readonly string[], signal: AbortSignal): Promise<void> {
  const { database, clock, log } = options;
  await waitForReaders(options, signal);
  const tables = await tablesToRewrite(database);
  const notRewritten = await rewriteTables(options, tables, signal);
  if (notRewritten === null) return;
  notRewritten.push(...(await clearStatistics(database, tables)));
  if (!(await rewriteTable(database, 'pg_statistic'))) notRewritten.push('pg_statistic');
  await emptyLog(database);
  await endRewriting(database, ids, notRewritten, clock.now());
  log.info({ erasures: ids.length, notRewritten }, 'erased content is out of the files of the database');
}

/** Between two tables others get the one session of the embedded database. Null: somebody else goes on. */
async function rewriteTables(
  options: RewritingOptions,
  tables: readonly string[],
  signal: AbortSignal,
): Promise<string[] | null> {
  const notRewritten: string[] = [];
  for (const table of tables) {
    if (signal.aborted || !(await keepLease(options))) return null;
    if (!(await rewriteTable(options.database, table))) notRewritten.push(table);
  }
  return notRewritten;
}

/** Waits for transactions opened before the removal: rows that they still see would be rewritten with the rest. */
async function waitForReaders({ database, clock }: RewritingOptions, signal: AbortSignal): Promise<void> {
  if (database.engine === 'pglite') return;
  const moment = await momentOf(database);
  for (let waitedMs = 0; await isSeenBySome(database, moment); waitedMs += lookEveryMs) {
    if (signal.aborted) return;
    if (waitedMs >= patienceMs) throw new MemorydError('unavailable', stillSeen);
    await clock.sleep(lookEveryMs, signal);
  }
}

const stillSeen =
  'A transaction or replication slot from before the removal is open and still sees the rows; end it, and it is tried again.';
