import { firstOf } from '../base/collections.ts';
import type { Database, Queryable } from './database.ts';
import { rawSql, sql } from './sql.ts';

/**
 * A deleted row stays in the files of its table until its place is used again, and in the log. Here files are
 * written anew without it.
 */

/** Our tables; the statistics that the planner keeps of them hold their most common values. */
export async function tablesToRewrite(database: Queryable): Promise<string[]> {
  const rows = await database.query<{ name: string }>(sql`
    select c.oid::regclass::text as name from pg_class c
    where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace and pg_has_role(c.relowner, 'usage')
    order by c.relname`);
  return rows.map(({ name }) => name);
}

/** False: this role may not rewrite it, of which the server only warns. */
export async function rewriteTable(database: Database, table: string): Promise<boolean> {
  const before = await fileOf(database, table);
  const options = table === 'pg_statistic' ? 'full' : 'full, analyze';
  // A vector index is built again with its table, many times faster where all of it has room. Processes that build it
  // together would need as much shared memory, of which a container may have little.
  const settings = { maintenance_work_mem: '256MB', max_parallel_maintenance_workers: '0' };
  await database.executeWith(settings, rawSql(`vacuum (${options}) ${table}`));
  return (await fileOf(database, table)) !== before;
}

/**
 * Analyzing a table without rows leaves the common values of its former ones in the statistics. Called when tables
 * are rewritten. Answers whose statistics remain: on a server only superusers may take them away.
 */
export async function clearStatistics(database: Database, tables: readonly string[]): Promise<string[]> {
  const rows = await database.query<{ name: string }>(sql`
    select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.oid = any(${tables}::text[]::regclass[]) and c.reltuples <= 0
      and exists (select 1 from pg_stats s where s.schemaname = n.nspname and s.tablename = c.relname)
    order by 1`);
  const names = rows.map(({ name }) => name);
  if (database.engine === 'postgres') return names.map((name) => `the statistics of ${name}`);
  await database.execute(sql`delete from pg_statistic where starelid = any(${names}::text[]::regclass[])`);
  return [];
}

async function fileOf(database: Queryable, table: string): Promise<number | null> {
  const row = firstOf(
    await database.query<{ file: number | null }>(sql`
    select pg_relation_filenode(to_regclass(${table}))::bigint as file`),
  );
  return row?.file ?? null;
}

/** Names this moment: what was deleted before is gone for whoever began after it. */
export async function momentOf(database: Queryable): Promise<string> {
  const row = firstOf(await database.query<{ moment: string }>(sql`select pg_current_xact_id()::text as moment`));
  return row.moment;
}

/** Whether anybody still sees rows that were deleted before a moment; rewriting would keep them. */
export async function isSeenBySome(database: Queryable, moment: string): Promise<boolean> {
  const age = sql`age(${moment}::xid8::xid)`;
  const rows = await database.query(sql`
    select 1 from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()
      and greatest(age(backend_xmin), age(backend_xid)) > ${age}
    union all
    select 1 from pg_prepared_xacts where database = current_database() and age(transaction) > ${age}
    union all
    select 1 from pg_replication_slots where age(xmin) > ${age}`);
  return rows.length > 0;
}

const maxLogFiles = 64;

/**
 * Lets go of all log of the embedded database, and of the old log that waits in files for later use. On a server
 * the log is the operator's.
 */
export async function emptyLog(database: Database): Promise<void> {
  if (database.engine !== 'pglite') return;
  for (let files = Infinity, round = 0; files > 1 && round < maxLogFiles; round += 1) {
    files = await database.transaction(async (tx) => {
      await tx.execute(sql`set local wal_recycle = off`);
      // So that there is something in the file to switch from.
      await tx.execute(sql`select pg_logical_emit_message(false, '', '')`);
      await tx.execute(sql`select pg_switch_wal()`);
      await tx.execute(sql`checkpoint`);
      const row = firstOf(await tx.query<{ files: number }>(sql`select count(*) as files from pg_ls_waldir()`));
      return row.files;
    });
  }
}
