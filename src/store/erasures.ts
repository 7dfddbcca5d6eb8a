import { firstOf } from '../base/collections.ts';
import type { Queryable, Transaction, Database } from './database.ts';
import { lockMemoriesOf } from './memories.ts';
import { settleChains } from './memory-versions.ts';
import { rawSql, sql } from './sql.ts';

/** The target of an erasure: documents by id, a container with everything in it, or all content deleted and forgotten so far. */
export type ErasureTarget = { documentIds: string[] } | { containerTag: string } | { deleted: true };

export interface ErasureRow {
  id: string;
  target: ErasureTarget;
  rewrite: boolean;
  status: 'removing' | 'rewriting' | 'completed';
  documents: number;
  memories: number;
  problem: string | null;
  notRewritten: string[];
  createdAt: Date;
  finishedAt: Date | null;
}

const columns = sql`id, target, rewrite, status, documents, memories, problem, not_rewritten as "notRewritten",
  created_at as "createdAt", finished_at as "finishedAt"`;

export async function insertErasure(
  database: Queryable,
  { id, target, rewrite }: Pick<ErasureRow, 'id' | 'target' | 'rewrite'>,
  now: Date,
): Promise<void> {
  await database.execute(sql`
    insert into erasures (id, target, rewrite, status, created_at, updated_at)
    values (${id}, ${JSON.stringify(target)}::jsonb, ${rewrite}, 'removing', ${now}, ${now})`);
}

export async function findErasure(database: Queryable, id: string): Promise<ErasureRow | null> {
  const [row] = await database.query<ErasureRow>(sql`select ${columns} from erasures where id = ${id}`);
  return row ?? null;
}

/** Those whose rows are not all gone and that nobody has worked on since a time, oldest first. */
export function stalledErasures(database: Queryable, before: Date): Promise<ErasureRow[]> {
  return database.query<ErasureRow>(sql`
    select ${columns} from erasures
    where finished_at is null and status = 'removing' and updated_at < ${before} order by id`);
}

/** Those whose files are to be rewritten; of those that came to no end, only those tried before a time. */
export async function erasuresToRewrite(database: Queryable, triedBefore: Date): Promise<string[]> {
  const rows = await database.query<{ id: string }>(sql`
    select id from erasures
    where finished_at is null and status = 'rewriting' and (problem is null or updated_at < ${triedBefore}) order by id`);
  return rows.map(({ id }) => id);
}

/** Some rows are gone; in the transaction in which they went. */
export async function noteErased(
  tx: Transaction,
  id: string,
  { documents, memories }: { documents: number; memories: number },
  now: Date,
): Promise<void> {
  await tx.execute(sql`
    update erasures set documents = documents + ${documents}, memories = memories + ${memories}, updated_at = ${now}
    where id = ${id}`);
}

/** All rows are gone. */
export async function endRemoving(tx: Transaction, id: string, now: Date): Promise<void> {
  await tx.execute(sql`
    update erasures set status = case when rewrite then 'rewriting' else 'completed' end,
      finished_at = case when not rewrite then ${now}::timestamptz end, updated_at = ${now}
    where id = ${id} and status = 'removing'`);
}

export async function endRewriting(
  database: Queryable,
  ids: readonly string[],
  notRewritten: readonly string[],
  now: Date,
): Promise<void> {
  await database.execute(sql`
    update erasures set status = 'completed', problem = null, not_rewritten = ${notRewritten}::text[],
      updated_at = ${now}, finished_at = ${now}
    where id = any(${ids}::text[])`);
}

export async function noteRewritingProblem(
  database: Queryable,
  ids: readonly string[],
  problem: string,
  now: Date,
): Promise<void> {
  await database.execute(sql`
    update erasures set problem = ${problem}, updated_at = ${now} where id = any(${ids}::text[])`);
}

export async function deleteOldErasures(database: Queryable, finishedBefore: Date): Promise<number> {
  return database.execute(sql`delete from erasures where finished_at < ${finishedBefore}`);
}

/** Ids of documents to erase among those given, including hidden ones. */
export async function documentsToErase(database: Queryable, ids: readonly string[]): Promise<string[]> {
  const rows = await database.query<{ id: string }>(sql`
    select id from documents where id = any(${ids}::text[])`);
  return rows.map(({ id }) => id);
}

/** Ids of documents, hidden ones among them, by customId; at most a few. */
export async function documentsNamed(database: Queryable, customId: string): Promise<{ id: string; tag: string }[]> {
  return database.query(sql`
    select id, container_tag as tag from documents where custom_id = ${customId} order by id limit 1000`);
}

/** Some documents of a container, or (null) some that are hidden anywhere, locked. */
export async function lockDocumentsToErase(
  tx: Transaction,
  containerTag: string | null,
  limit: number,
): Promise<string[]> {
  const condition = containerTag === null ? rawSql('deleted_at is not null') : sql`container_tag = ${containerTag}`;
  const rows = await tx.query<{ id: string }>(sql`
    select id from documents where ${condition} order by id limit ${limit} for update`);
  return rows.map(({ id }) => id);
}

/** How many memories go when these documents do. */
export async function countMemoriesOnlyFrom(tx: Transaction, documentIds: readonly string[]): Promise<number> {
  const row = firstOf(
    await tx.query<{ count: number }>(sql`
    select count(distinct s.memory_id) as count from memory_sources s
    where s.document_id = any(${documentIds}::text[]) and not exists (
      select 1 from memory_sources o where o.memory_id = s.memory_id and o.document_id <> all(${documentIds}::text[]))`),
  );
  return row.count;
}

/** On a memory `m`: forgotten, or its time has come. */
const isForgotten = (now: Date) => sql`(m.is_forgotten or m.forget_after <= ${now})`;

export async function containersWithForgotten(database: Queryable, now: Date): Promise<string[]> {
  const rows = await database.query<{ tag: string }>(sql`
    select distinct m.container_tag as tag from memories m where ${isForgotten(now)} order by 1`);
  return rows.map(({ tag }) => tag);
}

/**
 * Deletes what is forgotten in a container; of facts whose last version is, all versions, so that none comes back.
 * Answers how many memories.
 */
export async function eraseForgotten(tx: Transaction, containerTag: string, now: Date): Promise<number> {
  await lockMemoriesOf(tx, [containerTag]);
  const gone = await tx.query<{ root: string; documents: string[] }>(sql`
    delete from memories m
    where m.container_tag = ${containerTag} and (${isForgotten(now)} or coalesce(m.root_memory_id, m.id) in (
      select coalesce(m.root_memory_id, m.id) from memories m
      where m.container_tag = ${containerTag} and m.is_latest and ${isForgotten(now)}))
    returning coalesce(m.root_memory_id, m.id) as root,
      array(select s.document_id from memory_sources s where s.memory_id = m.id) as documents`);
  await settleChains(tx, [...new Set(gone.map(({ root }) => root))], now);
  await shortenMemoryDocuments(tx, [...new Set(gone.flatMap(({ documents }) => documents))]);
  return gone.length;
}

/** A document that stands for memories which a caller wrote says what is left of them; one of none goes. */
async function shortenMemoryDocuments(tx: Transaction, ids: readonly string[]): Promise<void> {
  const left = sql`(
    select s.document_id, string_agg(m.memory, chr(10) order by m.created_at, m.id) as text
    from memory_sources s join memories m on m.id = s.memory_id
    where s.document_id = any(${ids}::text[]) group by 1)`;
  const written = sql`d.id = any(${ids}::text[]) and d.source = 'memory'`;
  await tx.execute(sql`
    delete from documents d where ${written} and not exists (select 1 from memory_sources s where s.document_id = d.id)`);
  await tx.execute(sql`
    update document_contents c set raw = l.text, content = null
    from documents d join ${left} l on l.document_id = d.id where ${written} and c.document_id = d.id`);
  await tx.execute(sql`
    update documents d set title = left(split_part(l.text, chr(10), 1), 100)
    from ${left} l where ${written} and l.document_id = d.id`);
}

/**
 * Copies that are kept for a while and may say what erased documents said: answers of language models about others
 * of their containers, answers of their sources, and what the ledger knows of them beside their ids. Called before
 * the documents go.
 */
export async function eraseCopies(tx: Transaction, documentIds: readonly string[]): Promise<void> {
  await tx.execute(sql`
    delete from language_model_answers a using documents d
    where a.document_id = d.id and d.container_tag in (
      select container_tag from documents where id = any(${documentIds}::text[]))`);
  const items = await tx.query<{ connection: string; partition: string; item: string }>(sql`
    update sync_items set ref = ref - array['title', 'metadata']
    where document_id = any(${documentIds}::text[])
    returning connection_id as connection, partition_id as partition, ext_id as item`);
  await tx.execute(sql`
    delete from sync_item_documents where (connection_id, partition_id, ext_id) in (
      select * from unnest(${items.map((one) => one.connection)}::text[], ${items.map((one) => one.partition)}::text[],
        ${items.map((one) => one.item)}::text[]))`);
  await tx.execute(sql`
    delete from http_answers where connection_id = any(${[...new Set(items.map((one) => one.connection))]}::text[])
      or connection_id in (select connection_id from documents where id = any(${documentIds}::text[]))`);
}

/** The same of whatever was deleted before: nobody knows any more what of them says so. */
export async function eraseAllCopies(tx: Transaction): Promise<void> {
  await tx.execute(sql`delete from language_model_answers`);
  await tx.execute(sql`delete from http_answers`);
  await tx.execute(sql`
    delete from sync_item_documents d using sync_items i
    where i.connection_id = d.connection_id and i.partition_id = d.partition_id and i.ext_id = d.ext_id
      and i.state in ('suppressed', 'gone')`);
  await tx.execute(sql`
    update sync_items set ref = ref - array['title', 'metadata'] where state in ('suppressed', 'gone')`);
}

/** Answers under an Idempotency-Key may hold what was found. A repetition is told that its answer is gone. */
export async function eraseKeptAnswers(tx: Transaction): Promise<void> {
  await tx.execute(sql`update kept_answers set body = null where body is not null`);
}

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
