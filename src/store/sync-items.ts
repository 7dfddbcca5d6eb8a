import type { Queryable, Reader, Transaction } from './database.ts';
import { itemsOf, type HeldSweep, type PartitionKey, type RecentRemoval } from './partitions.ts';
import { rawSql, sql, type Sql, rowSet } from './sql.ts';

/**
 * Why the coverage of a connection leaves an item out. Such an item is `skipped` with the reason as its
 * error class; it stays in the ledger, so that it comes in when the coverage changes.
 *
 * - `filtered`: the connection's filters do not pass it;
 * - `out_of_scope`: it is in none of the selected folders, or it is not known yet in which it is;
 * - `over_limit`: newer items take all that the connection may mirror.
 */
export type LeftOutReason = 'filtered' | 'out_of_scope' | 'over_limit';

/** On an item `i`: it has, or is to have, a document. */
export const isMirrored = rawSql(`i.state in ('pending', 'held', 'fetching', 'failed', 'done')`);

/** On an item `i`: the coverage leaves it out. */
export const isLeftOut = rawSql(
  `(i.state = 'skipped' and i.error_class in ('filtered', 'out_of_scope', 'over_limit'))`,
);

/**
 * Which ledger rows count as disappeared: those that a listing has not seen; those that the source says are
 * deleted (`stated`); those that are only missed (`missing`), or that were until some time; `stated` and `missing`
 * together (`reported`).
 */
export type Disappeared = Unseen | Missed | 'stated' | 'missing' | 'reported';

/** Missed at that time or before it. */
export interface Missed {
  missedBy: Date;
}

/** Not seen by the listing of an epoch, which could not see what lies at these paths. */
export interface Unseen {
  notSeenIn: number;
  except: readonly string[];
}

const disappearedAs = {
  // A folder that is gone stays as that until a listing, for those in it.
  reported: rawSql(`i.state = 'gone' and i.kind = 'document'`),
  stated: rawSql(`i.state = 'gone' and i.kind = 'document' and i.missing_since is null`),
  missing: rawSql(`i.state = 'gone' and i.kind = 'document' and i.missing_since is not null`),
};

function disappeared(which: Disappeared): Sql {
  if (typeof which === 'string') return disappearedAs[which];
  return 'missedBy' in which ? sql`${disappearedAs.missing} and i.missing_since <= ${which.missedBy}` : unseen(which);
}

/** An item without a path cannot be told to lie elsewhere. */
function unseen({ notSeenIn, except }: Unseen): Sql {
  if (except.length === 0) return sql`i.seen_epoch < ${notSeenIn}`;
  return sql`i.seen_epoch < ${notSeenIn} and not ${liesIn(except)}`;
}

export function liesIn(paths: readonly string[]): Sql {
  if (paths.length === 0) return rawSql('false');
  return sql`(i.ref ->> 'path' is null or exists (
    select 1 from unnest(${paths}::text[]) as u(path)
    where i.ref ->> 'path' = u.path or starts_with(i.ref ->> 'path', u.path || '/')))`;
}

/**
 * Marks items that are gone. They are removed when the pages that say so are read to their end; what the
 * source does not say itself (`missing`) only if the brake lets it pass.
 */
export async function markGone(
  tx: Transaction,
  key: PartitionKey,
  ids: readonly string[],
  options: { as: 'stated' | 'missing'; now: Date },
): Promise<void> {
  const { as, now } = options;
  const missingSince =
    as === 'stated'
      ? rawSql('null::timestamptz')
      : sql`case when i.state = 'gone' then i.missing_since else ${now}::timestamptz end`;
  await tx.execute(sql`
    update sync_items i set state = 'gone', missing_since = ${missingSince}, lease_token = null, next_try = null,
      updated_at = ${now}
    where ${itemsOf(key)} and i.ext_id = any(${ids}::text[])`);
}

/** Marks what a complete listing has not shown as missing, if it has a document. */
export async function markUnseen(tx: Transaction, key: PartitionKey, which: Unseen, now: Date): Promise<void> {
  await tx.execute(sql`
    update sync_items i set state = 'gone', missing_since = ${now}, lease_token = null, next_try = null,
      updated_at = ${now}
    where ${itemsOf(key)} and ${unseen(which)} and i.kind = 'document' and i.document_id is not null
      and i.state <> 'gone'`);
}

/**
 * Renames: a held item takes over the document of a disappeared one with the same fingerprint, and that document its
 * customId. What is still held is fetched as new then; content is compared as ever. Returns the number of renames.
 */
export async function matchRenames(tx: Transaction, key: PartitionKey, which: Disappeared, now: Date): Promise<number> {
  const [row] = await tx.query<{ renamed: number }>(sql`
    with gone as (
      select i.ext_id, i.fingerprint, i.document_id, i.rev, i.text_hash,
        row_number() over (partition by i.fingerprint order by i.ext_id) as place
      from sync_items i
      where ${itemsOf(key)} and ${disappeared(which)} and i.state <> 'held' and i.document_id is not null
        and i.fingerprint in (select i.fingerprint from sync_items i where ${itemsOf(key)} and i.state = 'held')
    ),
    held as (
      select i.ext_id, i.custom_id, i.fingerprint, i.ref,
        row_number() over (partition by i.fingerprint order by i.ext_id) as place
      from sync_items i where ${itemsOf(key)} and i.state = 'held'
    ),
    pairs as (
      select held.ext_id, held.custom_id, held.ref, gone.ext_id as old_id, gone.document_id, gone.rev, gone.text_hash
      from held join gone using (fingerprint, place)
      join documents d on d.id = gone.document_id
      where not exists (
        select 1 from documents o
        where o.custom_id = held.custom_id and o.container_tag = d.container_tag and o.deleted_at is null)
        and not exists (
          select 1 from sync_items o where o.document_id = gone.document_id
            and (o.connection_id, o.partition_id, o.ext_id) <> (${key.connectionId}, ${key.partitionId}, gone.ext_id))
    ),
    removed as (
      delete from sync_items i using pairs where ${itemsOf(key)} and i.ext_id = pairs.old_id
    ),
    renamed as (
      update documents d set custom_id = pairs.custom_id, updated_at = ${now},
        filepath = coalesce(pairs.ref ->> 'path', d.filepath), url = coalesce(pairs.ref ->> 'url', d.url)
      from pairs where d.id = pairs.document_id
    ),
    released as (
      update sync_items i
      set state = 'pending', next_try = ${now}, document_id = pairs.document_id, rev = pairs.rev, text_hash = pairs.text_hash
      from held left join pairs on pairs.ext_id = held.ext_id
      where ${itemsOf(key)} and i.ext_id = held.ext_id
    )
    select count(*) as renamed from pairs`);
  return row?.renamed ?? 0;
}

/** The facts that the brake judges by: how many mirrored items are missing, a digest of exactly these, and earlier decisions. */
export interface Missing {
  missing: number;
  /** Mirrored items in all; not counted when nothing is missing. */
  total: number;
  digest: string;
  /** When the last of them was first missed; null: nothing is missing. */
  lastMissed: Date | null;
  heldSweep: HeldSweep | null;
  recentRemovals: RecentRemoval[];
}

/** Of a partition that is not there: one that nothing was pushed to yet, or whose connection is gone. */
const nothingMissing: Missing = {
  ...{ missing: 0, total: 0, digest: '', lastMissed: null },
  ...{ heldSweep: null, recentRemovals: [] },
};

export async function readMissing(database: Reader, key: PartitionKey): Promise<Missing> {
  const [row] = await database.query<Missing>(sql`
    with gone as materialized (
      select i.ext_id, i.missing_since from sync_items i
      where ${itemsOf(key)} and ${disappearedAs.missing} and i.document_id is not null
    ),
    counted as (
      select count(*) as missing, md5(coalesce(string_agg(ext_id, E'\\n' order by ext_id), '')) as digest,
        max(missing_since) as "lastMissed" from gone
    )
    select c.missing, c.digest, c."lastMissed", p.held_sweep as "heldSweep", p.recent_removals as "recentRemovals",
      case when c.missing = 0 then 0 else (
        select count(*) from sync_items i where ${itemsOf(key)} and i.document_id is not null) end as total
    from partitions p cross join counted c where p.connection_id = ${key.connectionId} and p.id = ${key.partitionId}`);
  return row ?? nothingMissing;
}

/** Some disappeared items, locked. */
export async function lockDisappeared(
  tx: Transaction,
  key: PartitionKey,
  which: Disappeared,
  limit: number,
): Promise<string[]> {
  const rows = await tx.query<{ id: string }>(sql`
    select i.ext_id as id from sync_items i
    where ${itemsOf(key)} and ${disappeared(which)}
    order by i.ext_id limit ${limit} for update`);
  return rows.map(({ id }) => id);
}

/** A document that an item no longer stands for, and the revision that it has. */
export interface LeftDocument {
  id: string;
  rev: string | null;
}

/** Forgets items; answers the documents that they stood for. */
export async function deleteItems(tx: Transaction, key: PartitionKey, ids: readonly string[]): Promise<LeftDocument[]> {
  return tx.query<LeftDocument>(sql`
    with removed as (
      delete from sync_items i where ${itemsOf(key)} and i.ext_id = any(${ids}::text[])
      returning i.document_id, i.rev
    )
    select document_id as id, max(rev) as rev from removed where document_id is not null group by document_id`);
}

/** Takes documents from items that are not mirrored any more; answers them. Few at a time, none most of the time. */
export async function takeSkippedDocuments(tx: Transaction, key: PartitionKey, limit: number): Promise<LeftDocument[]> {
  return tx.query<LeftDocument>(sql`
    with skipped as materialized (
      select i.ext_id, i.document_id, i.rev from sync_items i
      where ${itemsOf(key)} and i.state = 'skipped' and i.document_id is not null
      order by i.ext_id limit ${limit} for update
    )
    update sync_items i set document_id = null
    from skipped s where ${itemsOf(key)} and i.ext_id = s.ext_id
    returning s.document_id as id, s.rev`);
}

/** Gives every item back whose worker is certainly gone: at the start of the only process there is. */
export async function releaseAllItems(database: Queryable, now: Date): Promise<void> {
  await database.execute(sql`
    update sync_items set state = 'pending', lease_token = null, next_try = ${now}, lost_workers = lost_workers + 1 where state = 'fetching'`);
}

/** Gives the items of a connection back whose workers lost it: at the start of a run, which has it now. */
export async function releaseItemsOf(tx: Transaction, connectionId: string, now: Date): Promise<void> {
  await tx.execute(sql`
    update sync_items set state = 'pending', lease_token = null, next_try = ${now}, lost_workers = lost_workers + 1
    where connection_id = ${connectionId} and state = 'fetching'`);
}

/** Makes failed and skipped items due now; not those that the coverage leaves out, or of which only the id is known. */
export async function retryItems(
  database: Queryable,
  key: PartitionKey,
  states: readonly string[],
  now: Date,
): Promise<number> {
  return database.execute(sql`
    update sync_items i set state = 'pending', next_try = ${now}, attempts = 0, lost_workers = 0
    where ${itemsOf(key)} and i.state = any(${states}::text[]) and not ${isLeftOut} and i.want_rev <> ''`);
}

/** Keeps deleted documents deleted: their items are not fetched again until the source changes them. */
export async function suppressItemsOfDocuments(
  tx: Transaction,
  documentIds: readonly string[],
  now: Date,
): Promise<void> {
  await tx.execute(sql`
    update sync_items set state = 'suppressed', document_id = null, lease_token = null, updated_at = ${now}
    where document_id = any(${documentIds}::text[])`);
}

export interface ItemCounts {
  pending: number;
  done: number;
  failed: number;
  skipped: number;
}

/**
 * How the items of a connection stand. One whose document could not be processed has failed. `rows`: as many were read,
 * also of items that are gone.
 */
export async function countItems(database: Reader, connectionId: string): Promise<ItemCounts & { rows: number }> {
  const [row] = await database.query<ItemCounts & { rows: number }>(sql`
    select count(*) as rows, count(*) filter (where i.state in ('pending', 'held', 'fetching')) as pending,
      count(*) filter (where i.state = 'done' and d.id is null) as done,
      count(*) filter (where i.state = 'failed' or d.id is not null) as failed,
      count(*) filter (where i.state in ('skipped', 'suppressed')) as skipped
    from sync_items i
      left join documents d on d.id = i.document_id and i.state = 'done' and d.status = 'failed' and d.deleted_at is null
    where i.connection_id = ${connectionId} and i.kind = 'document'`);
  return row ?? { rows: 0, pending: 0, done: 0, failed: 0, skipped: 0 };
}

/** The effect that a sync would have on a listed item. `same`: none. */
type Prospect = 'added' | 'updated' | 'same';

/** Compares listed items with the ledger; reads only. */
export async function compareItems(
  database: Reader,
  key: PartitionKey,
  items: readonly { extId: string; rev: string }[],
): Promise<Map<string, Prospect>> {
  const set = rowSet('p', { extId: 'text', rev: 'text' }, items);
  const rows = await database.query<{ id: string; prospect: Prospect }>(sql`
    select p.ext_id as id, case
      when i.ext_id is null or (i.document_id is null and i.state in ('pending', 'held', 'fetching', 'failed')) then 'added'
      when i.want_rev = p.rev and (i.state in ('skipped', 'suppressed') or i.state = 'done' and i.rev is null or i.rev = p.rev)
        then 'same'
      when i.document_id is null then 'added' else 'updated' end as prospect
    from ${set.from} left join sync_items i on i.connection_id = ${key.connectionId}
      and i.partition_id = ${key.partitionId} and i.ext_id = p.ext_id`);
  return new Map(rows.map(({ id, prospect }) => [id, prospect]));
}

/** Mirrored items by id, some at a time, without those that lie at the paths of `except`. */
export async function mirroredItems(
  database: Reader,
  key: PartitionKey,
  page: { after: string; limit: number; except: readonly string[] },
): Promise<string[]> {
  const rows = await database.query<{ id: string }>(sql`
    select i.ext_id as id from sync_items i
    where i.connection_id = ${key.connectionId} and i.partition_id = ${key.partitionId} and i.ext_id > ${page.after}
      and i.document_id is not null and not ${liesIn(page.except)}
    order by i.ext_id limit ${page.limit}`);
  return rows.map(({ id }) => id);
}

/** Items that could not be mirrored, and those whose document could not be processed; connections without any are left out. */
export async function countFailuresOf(
  database: Queryable,
  connectionIds: readonly string[],
): Promise<{ connectionId: string; failed: number }[]> {
  const ids = sql`any(${connectionIds}::text[])`;
  return database.query(sql`
    select connection_id as "connectionId", count(*) as failed from (
      select connection_id from sync_items where state = 'failed' and kind = 'document' and connection_id = ${ids}
      union all
      select i.connection_id from documents d join sync_items i on i.document_id = d.id
      where d.status = 'failed' and d.deleted_at is null and d.connection_id = ${ids}
        and i.connection_id = d.connection_id and i.state = 'done' and i.kind = 'document') of_these
    group by connection_id`);
}
