import type { Transaction } from './database.ts';
import { isForgottenStatement } from './forgotten-statements.ts';
import { lockMemoriesOf } from './memories.ts';
import { rawSql, sql } from './sql.ts';

/** On a memory `m`: what is read before what is own before what was told, each in the order in which it was said. */
const order = rawSql(`array_position(array['read', 'own', 'told'], m.trust),
        least(coalesce(m.said_at, m.created_at), m.created_at), m.created_at, m.id`);

/**
 * Puts the versions of facts in order, whatever came or went: they are numbered by trust and by when they
 * were said, each follows the one before, and the last that a source still says is the latest. What a
 * caller forgot stays the latest, so that nothing older takes its place. `roots`: of each fact the id that
 * its versions name, or its own.
 */
export async function settleChains(tx: Transaction, roots: readonly string[], now: Date): Promise<void> {
  if (roots.length === 0) return;
  const found = await tx.query<{ id: string }>(sql`
    select id from memories where id = any(${roots}::text[])
    union
    select id from memories where root_memory_id = any(${roots}::text[])`);
  const ids = found.map(({ id }) => id);
  await numberVersions(tx, ids, now);
  await linkVersions(tx, ids, now);
}

async function numberVersions(tx: Transaction, ids: readonly string[], now: Date): Promise<void> {
  const isLatest = rawSql('s.version = s.latest');
  const root = rawSql('case when s.version > 1 then s.first end');
  await tx.execute(sql`
    with numbered as materialized (
      select m.id, m.container_tag as tag, coalesce(m.root_memory_id, m.id) as chain, row_number() over chain as version,
        lag(m.id) over chain as parent, first_value(m.id) over chain as first,
        m.forgotten_by is distinct from 'source' as stands
      from memories m where m.id = any(${ids}::text[])
      window chain as (partition by m.container_tag, coalesce(m.root_memory_id, m.id) order by ${order})
    ), settled as (
      select id, version, parent, first, coalesce(
        max(version) filter (where stands) over (partition by tag, chain), max(version) over (partition by tag, chain)) as latest
      from numbered
    )
    update memories m set version = s.version, parent_memory_id = s.parent, root_memory_id = ${root},
      is_latest = ${isLatest},
      superseded_at = case when s.version < s.latest then coalesce(m.superseded_at, ${now}::timestamptz) end,
      updated_at = case when m.is_latest <> (${isLatest}) then ${now}::timestamptz else m.updated_at end
    from settled s
    where m.id = s.id and (m.version, m.parent_memory_id, m.root_memory_id, m.is_latest, m.superseded_at is null)
      is distinct from (s.version, s.parent, ${root}, ${isLatest}, s.version >= s.latest)`);
}

/** A version updates the one that it follows, and no other. */
async function linkVersions(tx: Transaction, ids: readonly string[], now: Date): Promise<void> {
  await tx.execute(sql`
    delete from memory_relations r using memories m
    where m.id = any(${ids}::text[]) and r.from_id = m.id and r.relation = 'updates'
      and r.to_id is distinct from m.parent_memory_id`);
  await tx.execute(sql`
    insert into memory_relations (from_id, to_id, relation, created_at)
    select m.id, m.parent_memory_id, 'updates', ${now}::timestamptz from memories m
    where m.id = any(${ids}::text[]) and m.parent_memory_id is not null
    on conflict (from_id, to_id) do update set relation = 'updates' where memory_relations.relation <> 'updates'`);
}

/** Why a memory is forgotten that only hidden documents stand for. */
export const sourceGone = 'source gone';

/**
 * Memories that only hidden documents stand for are forgotten with them, and what they had replaced holds
 * again. Called in the transaction that hides the documents.
 */
export async function hideMemoriesOf(tx: Transaction, documentIds: readonly string[], now: Date): Promise<void> {
  if (!(await lockMemoriesFrom(tx, documentIds))) return;
  await settleChains(tx, rootsOf(await forgetWithout(tx, documentIds, now)), now);
}

/** Forgets what these documents say and no other one that is visible. */
function forgetWithout(tx: Transaction, documentIds: readonly string[], now: Date): Promise<{ root: string }[]> {
  return tx.query<{ root: string }>(sql`
    update memories m set is_forgotten = true, forgotten_by = 'source', forget_reason = ${sourceGone}, forgotten_at = ${now},
      updated_at = ${now}
    where not m.is_forgotten and m.id in (select memory_id from memory_sources where document_id = any(${documentIds}::text[]))
      and not exists (
        select 1 from memory_sources s join documents d on d.id = s.document_id
        where s.memory_id = m.id and d.deleted_at is null and d.id <> all(${documentIds}::text[]))
    returning coalesce(m.root_memory_id, m.id) as root`);
}

/** Called in the transaction that makes the documents visible again. What was forgotten meanwhile stays so. */
export async function showMemoriesOf(tx: Transaction, documentIds: readonly string[], now: Date): Promise<void> {
  if (!(await lockMemoriesFrom(tx, documentIds))) return;
  const shown = await tx.query<{ root: string }>(sql`
    update memories m set is_forgotten = false, forgotten_by = null, forget_reason = null, forgotten_at = null,
      updated_at = ${now}
    where m.forgotten_by = 'source' and m.forget_reason = ${sourceGone}
      and (m.extractor is null or not ${isForgottenStatement})
      and m.id in (select memory_id from memory_sources where document_id = any(${documentIds}::text[]))
    returning coalesce(m.root_memory_id, m.id) as root`);
  await settleChains(tx, rootsOf(shown), now);
}

/**
 * Deletes memories that no document is left to stand for, and forgets those that only hidden ones still do.
 * Called before the documents themselves go, and followed by `settleChains` with the answer: the facts that
 * lost a version.
 */
export async function deleteMemoriesOnlyFrom(
  tx: Transaction,
  documentIds: readonly string[],
  now: Date,
): Promise<string[]> {
  if (!(await lockMemoriesFrom(tx, documentIds))) return [];
  const deleted = await tx.query<{ root: string }>(sql`
    delete from memories m
    where m.id in (select memory_id from memory_sources where document_id = any(${documentIds}::text[]))
      and not exists (select 1 from memory_sources s where s.memory_id = m.id and s.document_id <> all(${documentIds}::text[]))
    returning coalesce(m.root_memory_id, m.id) as root`);
  return rootsOf([...deleted, ...(await forgetWithout(tx, documentIds, now))]);
}

/**
 * Documents before memories, in this order everywhere: whoever mines them waits at the documents, too.
 * Answers whether they have memories at all.
 */
async function lockMemoriesFrom(tx: Transaction, documentIds: readonly string[]): Promise<boolean> {
  if (documentIds.length === 0) return false;
  await tx.execute(sql`select 1 from documents where id = any(${documentIds}::text[]) order by id for update`);
  const rows = await tx.query<{ tag: string }>(sql`
    select distinct m.container_tag as tag from memory_sources s join memories m on m.id = s.memory_id
    where s.document_id = any(${documentIds}::text[])`);
  await lockMemoriesOf(
    tx,
    rows.map(({ tag }) => tag),
  );
  return rows.length > 0;
}

function rootsOf(rows: readonly { root: string }[]): string[] {
  return [...new Set(rows.map(({ root }) => root))];
}
