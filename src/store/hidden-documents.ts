import { itemsOf, type PartitionKey } from './partitions.ts';
import type { Transaction } from './database.ts';
import { hideMemoriesOf, showMemoriesOf } from './memory-versions.ts';
import { rowSet, rawSql, sql } from './sql.ts';
import { customIdSet, storedColumns, type CustomIdKey, type StoredDocument } from './documents.ts';
import type { LeftDocument } from './sync-items.ts';

/**
 * Documents that a mirror removed are hidden before they are deleted: nothing but these statements sees
 * them, and with their chunks and vectors they are back at once when their item is.
 */

/**
 * Ends a connection's claim to documents that its items no longer stand for. One that an item of
 * another connection stands for goes over to that; the others are hidden, or (`keep`) stay as
 * nobody's. Answers how many were hidden.
 *
 * The documents are locked first: whoever takes one over at the same moment is seen, or sees it hidden.
 */
export async function withdrawDocuments(
  tx: Transaction,
  left: readonly LeftDocument[],
  options: { connectionId: string; keep: boolean; now: Date },
): Promise<number> {
  const { connectionId, keep, now } = options;
  const ids = left.map((document) => document.id);
  await tx.execute(sql`select 1 from documents where id = any(${ids}::text[]) order by id for update`);
  const set = rowSet('r', { id: 'text', rev: 'text' }, left);
  const changed = await tx.query<{ id: string; hidden: boolean }>(sql`
    with owned as materialized (
      select r.id, max(r.rev) as rev, (
        select o.connection_id from sync_items o where o.document_id = r.id
        order by o.connection_id = ${connectionId} desc, o.connection_id limit 1) as owner
      from ${set.from} group by r.id
    )
    update documents d set
      connection_id = case when owned.owner is not null then owned.owner when ${keep} then null else d.connection_id end,
      deleted_at = case when owned.owner is null and not ${keep} then ${now}::timestamptz end,
      deleted_rev = case when owned.owner is null and not ${keep} then owned.rev end
    from owned
    where d.id = owned.id and d.deleted_at is null
      and (owned.owner is null or d.connection_id = ${connectionId} and owned.owner <> ${connectionId})
    returning d.id, d.deleted_at is not null as hidden`);
  const hidden = changed.filter((one) => one.hidden).map((one) => one.id);
  await hideMemoriesOf(tx, hidden, now);
  return hidden.length;
}

export interface RestoredItem {
  extId: string;
  /** State of its document; work on it goes on where it stopped. */
  status: string;
}

/**
 * Items under a lease whose hidden document has just the revision that the source shows: the document
 * is visible again and the item done, without being read.
 */
export async function restoreItems(
  tx: Transaction,
  key: PartitionKey,
  ids: readonly string[],
  options: { leaseToken: string; containerTag: string; now: Date },
): Promise<RestoredItem[]> {
  const items = await tx.query<RestoredItem & { documentId: string }>(sql`
    with held as materialized (
      select i.ext_id, i.custom_id, i.want_rev from sync_items i
      where ${itemsOf(key)} and i.ext_id = any(${ids}::text[]) and i.lease_token = ${options.leaseToken}
        and i.document_id is null
      order by i.ext_id for update
    ),
    found as materialized (
      select distinct on (i.ext_id) i.ext_id, d.id
      from held i join documents d on d.container_tag = ${options.containerTag} and d.custom_id = i.custom_id
      where d.deleted_at is not null and d.deleted_rev = i.want_rev
        and not exists (
          select 1 from documents o
          where o.custom_id = i.custom_id and o.container_tag = ${options.containerTag} and o.deleted_at is null)
      order by i.ext_id, d.deleted_at desc, d.id
    ),
    restored as (
      update documents d set deleted_at = null, deleted_rev = null, connection_id = ${key.connectionId}
      from found where d.id = found.id and d.deleted_at is not null
      returning d.id, d.status
    )
    update sync_items i set state = 'done', rev = i.want_rev, document_id = restored.id, next_try = null, attempts = 0,
      error_class = null, error = null, lease_token = null, updated_at = ${options.now}
    from found join restored on restored.id = found.id
    where ${itemsOf(key)} and i.ext_id = found.ext_id
    returning i.ext_id as "extId", restored.status, i.document_id as "documentId"`);
  if (items.length === 0) return [];
  await showMemoriesOf(
    tx,
    items.map(({ documentId }) => documentId),
    options.now,
  );
  return items;
}

/** The latest hidden documents that hold these customIds, locked. The columns are those of `lockByCustomId`. */
export async function lockHiddenByCustomId(tx: Transaction, keys: readonly CustomIdKey[]): Promise<StoredDocument[]> {
  const set = customIdSet(keys);
  return tx.query<StoredDocument>(sql`
    with latest as materialized (
      select distinct on (d.container_tag, d.custom_id) d.id
      from documents d join ${set.from} on d.container_tag = k.tag and d.custom_id = k.custom_id
      where d.custom_id is not null and d.deleted_at is not null
      order by d.container_tag, d.custom_id, d.deleted_at desc, d.id
    )
    select ${storedColumns}
    from documents d join latest on latest.id = d.id
    where d.deleted_at is not null
    order by d.id
    for update of d`);
}

/** Makes documents visible again. */
export async function showDocuments(tx: Transaction, ids: readonly string[], now: Date): Promise<void> {
  await tx.execute(sql`
    update documents set deleted_at = null, deleted_rev = null where id = any(${ids}::text[])`);
  await showMemoriesOf(tx, ids, now);
}

/** On a memory `m`: it had documents, and all that are left are hidden. Reads the few hidden documents once. */
export const isOnlyFromHidden = rawSql(`m.id in (
    select s.memory_id from documents d join memory_sources s on s.document_id = d.id
    where d.deleted_at is not null and not exists (
      select 1 from memory_sources o join documents l on l.id = o.document_id
      where o.memory_id = s.memory_id and l.deleted_at is null))`);

/** Documents hidden before a time, locked. */
export async function lockHiddenBefore(tx: Transaction, before: Date, limit: number): Promise<string[]> {
  const rows = await tx.query<{ id: string }>(sql`
    select id from documents where deleted_at < ${before} order by id limit ${limit} for update skip locked`);
  return rows.map((row) => row.id);
}
