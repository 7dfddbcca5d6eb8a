import { MemorydError } from '../base/errors.ts';
import type { Queryable, Reader, Transaction } from './database.ts';
import { sql } from './sql.ts';

/** What a container may hold, and how often it may be asked for in a minute. Null: as much as comes. */
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

interface Limit {
  tag: string;
  documents: number | null;
  bytes: number | null;
}

async function limitsOf(database: Reader, tags: readonly string[]): Promise<Limit[]> {
  return database.query<Limit>(sql`
    select tag, quota_documents as documents, quota_bytes as bytes from container_tags
    where tag = any(${tags}::text[]) and (quota_documents is not null or quota_bytes is not null) order by tag`);
}

/** `added` is what this transaction adds. */
async function usageIn(database: Reader, tag: string): Promise<Usage & { added: Usage }> {
  const [row] = await database.query<Usage & { ownDocuments: number; ownBytes: number }>(sql`
    select coalesce(sum(documents), 0) as documents, coalesce(sum(bytes), 0) as bytes,
      coalesce(sum(documents) filter (where xmin = pg_current_xact_id_if_assigned()::xid), 0) as "ownDocuments",
      coalesce(sum(bytes) filter (where xmin = pg_current_xact_id_if_assigned()::xid), 0) as "ownBytes"
    from container_usage where tag = ${tag}`);
  const { documents, bytes, ownDocuments, ownBytes } = row!;
  return { documents, bytes, added: { documents: ownDocuments, bytes: ownBytes } };
}

/**
 * Throws `quota_exceeded` when the transaction has added more to a container than it may hold. Called when it has
 * added; those that add to a container with a quota end one after the other. What makes a container smaller is
 * never refused.
 */
export async function requireQuota(tx: Transaction, tags: readonly string[]): Promise<void> {
  for (const limit of await limitsOf(tx, tags)) {
    await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${`quota ${limit.tag}`}, 0))`);
    const usage = await usageIn(tx, limit.tag);
    for (const what of ['documents', 'bytes'] as const) {
      const most = limit[what];
      if (most !== null && usage[what] > most && usage.added[what] > 0) throw exceeded(limit.tag, what, most);
    }
  }
}

function exceeded(tag: string, what: 'documents' | 'bytes', most: number): MemorydError {
  return new MemorydError('quota_exceeded', `Container ${tag} may hold ${most} ${what}, and this would be more`, {
    shouldRetry: false,
  });
}

/** How many more documents a container takes, 0 also when its bytes are used up; null: as many as come. */
export async function roomIn(database: Reader, tag: string): Promise<number | null> {
  const [limit] = await limitsOf(database, [tag]);
  if (!limit) return null;
  const usage = await usageOf(database, tag);
  if (limit.bytes !== null && usage.bytes >= limit.bytes) return 0;
  return limit.documents === null ? null : Math.max(0, limit.documents - usage.documents);
}

/** What a container with a quota holds; of others nothing is counted. */
export async function usageOf(database: Reader, tag: string): Promise<Usage> {
  const { documents, bytes } = await usageIn(database, tag);
  return { documents, bytes };
}

/** Counts from the beginning. Nobody may write documents meanwhile; called first in its transaction. */
export async function countUsage(tx: Transaction, tag: string): Promise<void> {
  await tx.execute(sql`lock table documents, document_contents in share mode`);
  await tx.execute(sql`delete from container_usage where tag = ${tag}`);
  await tx.execute(sql`
    insert into container_usage (tag, documents, bytes)
    select ${tag}::text, count(*), coalesce(sum(stored_bytes(id)), 0) from documents
    where container_tag = ${tag} and deleted_at is null`);
}

const mostRows = 50;

/** Makes one row of many; the sums stay. */
export async function sumUpUsage(database: Queryable): Promise<void> {
  await database.execute(sql`
    with gone as (
      delete from container_usage where tag in (
        select tag from container_usage group by tag having count(*) > ${mostRows})
      returning tag, documents, bytes)
    insert into container_usage (tag, documents, bytes)
    select tag, sum(documents), sum(bytes) from gone group by tag`);
}

/** By container: how many requests a minute it takes. Only those with a limit. */
export async function requestQuotas(database: Reader): Promise<Map<string, number>> {
  const rows = await database.query<{ tag: string; most: number }>(sql`
    select tag, quota_requests as most from container_tags where quota_requests is not null`);
  return new Map(rows.map(({ tag, most }) => [tag, most]));
}
