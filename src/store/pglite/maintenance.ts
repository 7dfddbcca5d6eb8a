import type { Clock } from '../../base/clock.ts';
import { MemorydError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import type { Database } from '../database.ts';
import { rawSql, sql } from '../sql.ts';
import { copyingSetting } from './copy-cluster.ts';

/**
 * Takes the place of a server's background processes: the embedded engine has no autovacuum,
 * and no checkpoint follows from the size of its log, which would grow until the next start.
 */
export interface Maintenance {
  /** Does what is due, now. Safe at any time; costs little when nothing is. */
  run(): Promise<MaintenanceReport>;
  close(): Promise<void>;
}

export interface MaintenanceReport {
  /** Tables that were vacuumed and analyzed. */
  vacuumed: string[];
  /** Bytes of log that the checkpoint made unnecessary; null when there was none. */
  checkpointedBytes: number | null;
}

export interface MaintenanceOptions {
  database: Database;
  /** True when nobody holds or waits for the session. */
  isIdle(): boolean;
  /** Uses of the session so far; when it has not grown, nothing can be due. */
  uses(): number;
  clock: Clock;
  log: Logger;
}

const lookEveryMs = 2_000;
const looksPerRound = 5;
/** Tables are left alone while the session is busy, but not longer than this many rounds. */
const maxBusyRounds = 12;
/** Smaller tables are read whole by any plan. */
const leastPages = 8;
/** Autovacuum's own rule: a fixed number of rows and a share of the table. */
const staleRows = 200;
const staleShare = 0.1;
/** Less log than this is not worth a checkpoint: a restart replays it in well under a second. */
const worthwhileLogBytes = 4 * 1024 * 1024;
/** So much log that a checkpoint does not wait for an idle moment. */
const urgentLogBytes = 32 * 1024 * 1024;

/** Looks every two seconds in which the database was used how tables have grown, and every ten what is due. */
export function startMaintenance(options: MaintenanceOptions): Maintenance {
  const { clock, database, log } = options;
  const ended = new AbortController();
  const looping = loop();

  async function loop(): Promise<void> {
    let [seen, isDue, busyRounds] = [0, false, 0];
    for (let look = 1; ; look++) {
      await clock.sleep(lookEveryMs, ended.signal);
      if (ended.signal.aborted) return;
      if (options.uses() !== seen) {
        isDue = true;
        await runLogged(() => analyzeGrown(database));
      }
      if (isDue && look % looksPerRound === 0) {
        busyRounds = options.isIdle() ? 0 : busyRounds + 1;
        const thorough = busyRounds % maxBusyRounds === 0;
        await runLogged(() => (thorough ? maintain(database) : checkpoint(database, urgentLogBytes)));
        isDue = !thorough;
      }
      // What it did itself is no use.
      seen = options.uses();
    }
  }

  async function runLogged(work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (MemorydError.is(error) && error.code === 'unavailable') return;
      // Tried again in the next round; until then only disk space and plans suffer.
      log.warn({ reason: error instanceof Error ? error.message : String(error) }, 'database maintenance failed');
    }
  }

  return {
    run: () => maintain(database),
    async close() {
      ended.abort();
      await looping;
    },
  };
}

/**
 * Gathers statistics of tables that have become twice as large since they were gathered, and so has their statements
 * planned anew. Until then all items of a connection count as few, and a prepared statement keeps the plan of the time
 * when its tables had some pages, which is to read all of them. From a small sample: this comes while others wait.
 */
async function analyzeGrown(database: Database): Promise<void> {
  const grown = await database.query<{ name: string }>(sql`
    select quote_ident(relname) as name from pg_class
    where relkind = 'r' and relnamespace = current_schema()::regnamespace
      and pg_relation_size(oid) / current_setting('block_size')::integer >= 2 * greatest(relpages, ${leastPages})`);
  for (const { name } of grown)
    await database.executeWith({ default_statistics_target: '10' }, rawSql(`analyze ${name}`));
}

/** Table by table, each a statement of its own, so that others get the session in between. */
async function maintain(database: Database): Promise<MaintenanceReport> {
  const vacuumed = await staleTables(database);
  for (const table of vacuumed) await database.execute(rawSql(`vacuum (analyze) ${table}`));
  return { vacuumed, checkpointedBytes: await checkpoint(database, worthwhileLogBytes) };
}

/** Quoted names of the tables whose rows or statistics changed enough. */
async function staleTables(database: Database): Promise<string[]> {
  const rows = await database.query<{ name: string }>(sql`
    select quote_ident(schemaname) || '.' || quote_ident(relname) as name
    from pg_stat_user_tables
    where greatest(n_dead_tup, n_mod_since_analyze, n_ins_since_vacuum)
          > ${staleRows}::float8 + ${staleShare}::float8 * n_live_tup
    order by relid`);
  return rows.map((row) => row.name);
}

/**
 * Bytes of log since the last checkpoint when they are `minBytes` or more, after a new one; else, and while the cluster
 * is copied, null.
 */
async function checkpoint(database: Database, minBytes: number): Promise<number | null> {
  const rows = await database.query<{ bytes: number; isCopied: boolean }>(sql`
    select pg_wal_lsn_diff(pg_current_wal_lsn(), redo_lsn) as bytes,
      current_setting(${copyingSetting}, true) is not distinct from 'on' as "isCopied"
    from pg_control_checkpoint()`);
  const { bytes, isCopied } = rows[0]!;
  if (isCopied || bytes < minBytes) return null;
  await database.execute(sql`checkpoint`);
  return bytes;
}
