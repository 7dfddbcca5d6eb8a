import type { Queryable } from './database.ts';
import { textLiteral, vectorOf } from './search/candidates.ts';
import { isToBeRead, lacksVectors } from './processing.ts';
import { rawSql, sql, type Sql } from './sql.ts';
import type { EmbeddedKind } from './stored-vectors.ts';

export interface StoredIndex {
  name: string;
  /** False for what an interrupted build left behind. */
  valid: boolean;
  /** Somebody builds it at this moment. */
  building: boolean;
  /** Vectors in it, as the server last estimated. */
  vectors: number;
}

/** Names of the vector indexes start so; what follows stands for the model. */
const prefixOf = (kind: EmbeddedKind) => `${kind}_hnsw_`;

export function indexName(kind: EmbeddedKind, modelKey: string): string {
  return `${prefixOf(kind)}${modelKey}`;
}

export async function readIndexes(database: Queryable, kind: EmbeddedKind): Promise<StoredIndex[]> {
  return database.query<StoredIndex>(sql`
    select c.relname as name, i.indisvalid as valid, greatest(c.reltuples, 0)::float8 as vectors,
      exists (select 1 from pg_stat_progress_create_index p where p.index_relid = c.oid) as building
    from pg_index i join pg_class c on c.oid = i.indexrelid
    where i.indrelid = ${kind}::text::regclass and starts_with(c.relname, ${prefixOf(kind)}::text)
    order by c.relname`);
}

/** Memories that are replaced or forgotten are found by other ways. */
const whatCounts = {
  chunks: rawSql(''),
  memories: rawSql(' and is_latest and not is_forgotten'),
};

/** Vectors of the model that would be in the index, counted up to a limit. */
export async function countVectors(
  database: Queryable,
  kind: EmbeddedKind,
  model: string,
  limit: number,
): Promise<number> {
  const [row] = await database.query<{ count: number }>(sql`
    select count(*) as count from (
      select from ${rawSql(kind)} where embedding_model = ${model}${whatCounts[kind]} limit ${limit}) vectors`);
  return row!.count;
}

/** Documents that wait to be processed, counted up to a limit. */
export async function countWaiting(database: Queryable, limit: number): Promise<number> {
  const [row] = await database.query<{ count: number }>(sql`
    select count(*) as count from (
      select from documents where ${isToBeRead} union all select from documents where ${lacksVectors} limit ${limit}
    ) waiting`);
  return row!.count;
}

/** Whether anybody has a lease whose name starts so. */
export async function hasLease(database: Queryable, namePrefix: string, now: Date): Promise<boolean> {
  const [row] = await database.query<{ held: boolean }>(sql`
    select exists (
      select 1 from leases where starts_with(name, ${namePrefix}::text) and lease_until >= ${now}
    ) as held`);
  return row!.held;
}

/** m and ef_construction are pgvector's defaults, measured in docs/decisions. The search has the same expression and condition. */
export function createIndexStatement(
  kind: EmbeddedKind,
  name: string,
  model: { id: string; dimensions: number },
  concurrently: boolean,
): Sql {
  return sql`create index ${rawSql(concurrently ? 'concurrently ' : '')}if not exists ${rawSql(name)}
    on ${rawSql(kind)} using hnsw (${vectorOf(model.dimensions, 'embedding')} vector_cosine_ops)
    with (m = 16, ef_construction = 64)
    where embedding_model = ${textLiteral(model.id)}${whatCounts[kind]}`;
}

export function dropIndexStatement(name: string, concurrently: boolean): Sql {
  return sql`drop index ${rawSql(concurrently ? 'concurrently ' : '')}if exists ${rawSql(name)}`;
}

/**
 * Stops the build of an index on the server; it leaves an invalid index. The build is known by its
 * text, because in its first moments no other session sees the index it makes.
 */
export async function cancelBuild(database: Queryable, build: Sql): Promise<void> {
  await database.query(sql`
    select pg_cancel_backend(pid) from pg_stat_activity
    where datname = current_database() and state = 'active' and query = ${build.text}`);
}
