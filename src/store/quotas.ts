import { firstOf } from '../base/collections.ts';
import { MemorydError } from '../base/errors.ts';
import type { Queryable, Reader, Transaction } from './database.ts';
import { rawSql, sql, type Sql } from './sql.ts';

/** Limits of a container: documents, bytes, and requests per minute. Null: unlimited. */
export interface Quota {
  documents: number | null;
  /** Of documents: the largest of what was sent and its text. */
  bytes: number | null;
  requestsPerMinute: number | null;
}

export interface Usage {
  documents: number;
  bytes: number;
}

/** Limits of a key. Null: unlimited. */
export type KeyQuota = Pick<Quota, 'documents' | 'bytes'>;

/** Who is written to, and who writes: containers by tag, keys by `ApiKeyRow.usageId`. */
export interface Holders {
  tags: readonly string[];
  keys: readonly string[];
}

/** Where the rows stand whose sum a holder has. */
interface Holder {
  kind: 'container' | 'key';
  /** Tag, or `usageId`. */
  id: string;
}

interface Limit extends Holder, KeyQuota {}

/** Where usage is summed up, and whose documents it is of. */
const places = {
  container: { table: rawSql('container_usage'), holder: rawSql('tag'), documents: rawSql('container_tag') },
  key: { table: rawSql('key_usage'), holder: rawSql('usage_id'), documents: rawSql('added_by') },
} as const;

function rowsOf({ kind, id }: Holder): Sql {
  const { table, holder } = places[kind];
  return sql`${table} where ${holder} = ${id}`;
}

/** In one order everywhere, so that two writers never wait for each other. */
async function limitsOf(database: Reader, { tags, keys }: Holders): Promise<Limit[]> {
  return database.query<Limit>(sql`
    select 'container' as kind, tag as id, quota_documents as documents, quota_bytes as bytes from container_tags
    where tag = any(${tags}::text[]) and (quota_documents is not null or quota_bytes is not null)
    union all
    select 'key', coalesce(usage_id, id), min(quota_documents), min(quota_bytes) from api_keys
    where coalesce(usage_id, id) = any(${keys}::text[]) and (quota_documents is not null or quota_bytes is not null)
    group by coalesce(usage_id, id)
    order by 1, 2`);
}

/** `added` is what this transaction adds. */
async function usageIn(database: Reader, holder: Holder): Promise<Usage & { added: Usage }> {
  const row = firstOf(
    await database.query<Usage & { ownDocuments: number; ownBytes: number }>(sql`
    select coalesce(sum(documents), 0) as documents, coalesce(sum(bytes), 0) as bytes,
      coalesce(sum(documents) filter (where xmin = pg_current_xact_id_if_assigned()::xid), 0) as "ownDocuments",
      coalesce(sum(bytes) filter (where xmin = pg_current_xact_id_if_assigned()::xid), 0) as "ownBytes"
    from ${rowsOf(holder)}`),
  );
  const { documents, bytes, ownDocuments, ownBytes } = row;
  return { documents, bytes, added: { documents: ownDocuments, bytes: ownBytes } };
}

/**
 * Throws `quota_exceeded` when the transaction has added more than a container or a key may hold. Called when it
 * has added; those that add for the same holder end one after the other. What makes a holder smaller is never
 * refused.
 */
export async function requireQuota(tx: Transaction, holders: Holders): Promise<void> {
  for (const limit of await limitsOf(tx, holders)) {
    const lock = limit.kind === 'container' ? `quota ${limit.id}` : `quota of key ${limit.id}`;
    await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${lock}, 0))`);
    const usage = await usageIn(tx, limit);
    for (const what of ['documents', 'bytes'] as const) {
      const most = limit[what];
      if (most !== null && usage[what] > most && usage.added[what] > 0) throw exceeded(limit, what, most);
    }
  }
}

function exceeded({ kind, id }: Holder, what: 'documents' | 'bytes', most: number): MemorydError {
  const holder = kind === 'container' ? `Container ${id}` : 'This key';
  return new MemorydError('quota_exceeded', `${holder} may hold ${most} ${what}, and this would be more`, {
    shouldRetry: false,
  });
}

/** How many more documents a container takes, 0 also when its bytes are used up; null: as many as come. */
export async function roomIn(database: Reader, tag: string): Promise<number | null> {
  const [limit] = await limitsOf(database, { tags: [tag], keys: [] });
  if (!limit) return null;
  const usage = await usageOf(database, tag);
  if (limit.bytes !== null && usage.bytes >= limit.bytes) return 0;
  return limit.documents === null ? null : Math.max(0, limit.documents - usage.documents);
}

/** The usage of a container with a quota; other containers are not counted. */
export async function usageOf(database: Reader, tag: string): Promise<Usage> {
  const { documents, bytes } = await usageIn(database, { kind: 'container', id: tag });
  return { documents, bytes };
}

/** The usage of keys with a quota, by `usageId`. */
export async function usageOfKeys(database: Reader): Promise<Map<string, Usage>> {
  const rows = await database.query<Usage & { id: string }>(sql`
    select usage_id as id, sum(documents) as documents, sum(bytes) as bytes from key_usage group by usage_id`);
  return new Map(rows.map(({ id, documents, bytes }) => [id, { documents, bytes }]));
}

/** Counts from the beginning. Nobody may write documents meanwhile; called first in its transaction. */
export async function countUsage(tx: Transaction, counted: Holder): Promise<void> {
  const { table, holder, documents } = places[counted.kind];
  await tx.execute(sql`lock table documents, document_contents in share mode`);
  await tx.execute(sql`delete from ${rowsOf(counted)}`);
  await tx.execute(sql`
    insert into ${table} (${holder}, documents, bytes)
    select ${counted.id}::text, count(*), coalesce(sum(stored_bytes(id)), 0) from documents
    where ${documents} = ${counted.id} and deleted_at is null`);
}

const mostRows = 50;

/** Makes one row of many; the sums stay. */
export async function sumUpUsage(database: Queryable): Promise<void> {
  for (const { table, holder } of Object.values(places))
    await database.execute(sql`
      with gone as (
        delete from ${table} where ${holder} in (
          select ${holder} from ${table} group by ${holder} having count(*) > ${mostRows})
        returning ${holder}, documents, bytes)
      insert into ${table} (${holder}, documents, bytes)
      select ${holder}, sum(documents), sum(bytes) from gone group by ${holder}`);
}

/** By container: how many requests a minute it takes. Only those with a limit. */
export async function requestQuotas(database: Reader): Promise<Map<string, number>> {
  const rows = await database.query<{ tag: string; most: number }>(sql`
    select tag, quota_requests as most from container_tags where quota_requests is not null`);
  return new Map(rows.map(({ tag, most }) => [tag, most]));
}
