import type { Queryable, Transaction } from './database.ts';
import { forgetMemories } from './memories.ts';
import { rawSql, sql, type Sql } from './sql.ts';

/** The hash of what a fact answers; `slotHash` of the statements it is compared with is the same. */
const slotHash = rawSql(
  `encode(sha256(convert_to(m.subject || chr(10) || m.slot || chr(10) || m.slot_value, 'UTF8')), 'base64')`,
);

/** On a memory `m`: what it says, or the answer that it gives, was forgotten in its container. */
export const isForgottenStatement = sql`exists (
  select 1 from forgotten_statements f where f.container_tag = m.container_tag and f.hash in (m.content_hash, ${slotHash}))`;

/** All versions of the facts that some memories are versions of. */
function versionsOf(ids: readonly string[]): Sql {
  return sql`
    select v.* from memories m join memories v on v.id = coalesce(m.root_memory_id, m.id) where m.id = any(${ids}::text[])
    union
    select v.* from memories m join memories v on v.root_memory_id = coalesce(m.root_memory_id, m.id)
    where m.id = any(${ids}::text[])`;
}

/**
 * These memories, and what stands in their containers and says the same as any version of them or gives the
 * same answer.
 */
export async function sameStatements(tx: Transaction, ids: readonly string[]): Promise<string[]> {
  const rows = await tx.query<{ id: string }>(sql`
    with version as materialized (${versionsOf(ids)})
    select unnest(${ids}::text[]) as id
    union
    select m.id from version v join memories m on m.container_tag = v.container_tag and m.content_hash = v.content_hash
    where m.is_latest and not m.is_forgotten
    union
    select m.id from version v join memories m
      on m.container_tag = v.container_tag and m.subject = v.subject and m.slot = v.slot and m.slot_value = v.slot_value
    where m.is_latest and not m.is_forgotten`);
  return rows.map(({ id }) => id);
}

/** Keeps all versions of facts from coming back by any source. Only hashes are kept. */
export async function rememberForgotten(tx: Transaction, ids: readonly string[], now: Date): Promise<void> {
  await tx.execute(sql`
    with version as materialized (${versionsOf(ids)})
    insert into forgotten_statements (container_tag, hash, forgotten_at)
    select container_tag, content_hash, ${now}::timestamptz from version
    union
    select m.container_tag, ${slotHash}, ${now}::timestamptz from version m where m.slot_value is not null
    on conflict (container_tag, hash) do update set forgotten_at = excluded.forgotten_at`);
}

/** When statements with these hashes were forgotten, by container and hash. */
export async function forgottenStatements(
  database: Queryable,
  containerTags: readonly string[],
  hashes: readonly string[],
): Promise<(containerTag: string, hash: string) => Date | undefined> {
  const rows = await database.query<{ tag: string; hash: string; at: Date }>(sql`
    select container_tag as tag, hash, forgotten_at as at from forgotten_statements
    where container_tag = any(${containerTags}::text[]) and hash = any(${hashes}::text[])`);
  const found = new Map(rows.map(({ tag, hash, at }) => [`${tag} ${hash}`, at]));
  return (containerTag, hash) => found.get(`${containerTag} ${hash}`);
}

/** Somebody says it again, and means it. */
export async function allowStatements(tx: Transaction, containerTag: string, hashes: readonly string[]): Promise<void> {
  if (hashes.length === 0) return;
  await tx.execute(sql`
    delete from forgotten_statements where container_tag = ${containerTag} and hash = any(${hashes}::text[])`);
}

/** Carries forgotten statements over in a merge: what either container forgot, the merged one forgets. Call it after moving memories. */
export async function moveForgotten(tx: Transaction, from: string, to: string, now: Date): Promise<void> {
  await tx.execute(sql`
    insert into forgotten_statements (container_tag, hash, forgotten_at)
    select ${to}, hash, forgotten_at from forgotten_statements where container_tag = ${from}
    on conflict (container_tag, hash) do update set forgotten_at = greatest(forgotten_statements.forgotten_at, excluded.forgotten_at)`);
  await clearForgotten(tx, from);
  const held = await tx.query<{ id: string }>(sql`
    select m.id from memories m
    where m.container_tag = ${to} and m.extractor is not null and not m.is_forgotten and ${isForgottenStatement}`);
  const ids = held.map(({ id }) => id);
  await forgetMemories(tx, ids, { by: 'caller', reason: 'forgotten in a merged container' }, now);
}

export async function clearForgotten(tx: Transaction, containerTag: string): Promise<void> {
  await tx.execute(sql`delete from forgotten_statements where container_tag = ${containerTag}`);
}
