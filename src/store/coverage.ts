import { itemsOf, type PartitionKey, isPartition } from './partitions.ts';
import type { Queryable, Reader, Transaction } from './database.ts';
import { rowSet, type Columns, rawSql, sql, type Sql } from './sql.ts';
import { isLeftOut, isMirrored, type LeftOutReason } from './sync-items.ts';

/**
 * Statements that move items in and out of what a connection mirrors. An item that leaves is `skipped`
 * and keeps its document until `takeSkippedDocuments` finds it, so that leaving survives any crash; one
 * that comes in is `pending`. Items are locked in the order of their ids, as everywhere, so that this waits for
 * workers that finish some of them instead of deadlocking.
 */

/** The assignments that let an item in or leave it out. `reason` is null for an item that comes in. */
const moved = (reason: Sql, detail: Sql, now: Date) => sql`
  state = case when ${reason} is null then 'pending' else 'skipped' end, error_class = ${reason}, error = ${detail},
  next_try = case when ${reason} is null then ${now}::timestamptz end, attempts = 0, lease_token = null,
  updated_at = ${now}::timestamptz`;

export interface JudgedItem {
  extId: string;
  /** Null when it is mirrored. */
  reason: LeftOutReason | null;
  ref: Record<string, unknown>;
  sourceUpdatedAt: Date | null;
}

/** Items that the coverage lets in or leaves out, by id. */
export async function itemsToJudge(
  database: Reader,
  key: PartitionKey,
  page: { after: string; limit: number },
): Promise<JudgedItem[]> {
  return database.query<JudgedItem>(sql`
    select i.ext_id as "extId", case when i.state = 'skipped' then i.error_class end as reason, i.ref,
      i.source_updated_at as "sourceUpdatedAt"
    from sync_items i
    where ${itemsOf(key)} and i.kind = 'document' and i.ext_id > ${page.after} and (${isMirrored} or ${isLeftOut})
    order by i.ext_id limit ${page.limit}`);
}

export interface Judgement {
  extId: string;
  reason: LeftOutReason | null;
  detail: string | null;
}

const judgementColumns: Columns<Judgement> = { extId: 'text', reason: 'text', detail: 'text' };

/** Lets items in and leaves others out. */
export async function moveItems(
  tx: Queryable,
  key: PartitionKey,
  judgements: readonly Judgement[],
  now: Date,
): Promise<void> {
  const set = rowSet('r', judgementColumns, judgements);
  const ids = judgements.map((one) => one.extId);
  await tx.execute(sql`
    with moves as materialized (
      select i.ext_id, r.reason, r.detail from sync_items i join ${set.from} on r.ext_id = i.ext_id
      where ${itemsOf(key)} and i.ext_id = any(${ids}::text[]) and (${isMirrored} or ${isLeftOut})
      order by i.ext_id for update of i
    )
    update sync_items i set ${moved(rawSql('m.reason'), rawSql('m.detail'), now)}
    from moves m where ${itemsOf(key)} and i.ext_id = any(${ids}::text[]) and i.ext_id = m.ext_id`);
}

/** Writes when items changed at their source, where an older version did not keep it. */
export async function timeItems(
  tx: Queryable,
  key: PartitionKey,
  times: readonly { extId: string; sourceUpdatedAt: Date }[],
): Promise<void> {
  const set = rowSet('r', { extId: 'text', sourceUpdatedAt: 'timestamptz' }, times);
  const ids = times.map((one) => one.extId);
  await tx.execute(sql`
    update sync_items i set source_updated_at = r.source_updated_at
    from ${set.from} where ${itemsOf(key)} and i.ext_id = any(${ids}::text[]) and i.ext_id = r.ext_id`);
}

/** Leaves out what its source changed last before a time; answers how many items that are. */
export async function leaveOlder(
  database: Queryable,
  key: PartitionKey,
  options: { before: Date; detail: string; now: Date },
): Promise<number> {
  return database.execute(sql`
    with moves as materialized (
      select i.ext_id from sync_items i
      where ${itemsOf(key)} and i.kind = 'document' and i.source_updated_at < ${options.before}
        and (${isMirrored} or ${isLeftOut} and i.error_class <> 'filtered')
      order by i.ext_id for update
    )
    update sync_items i set ${moved(rawSql(`'filtered'`), sql`${options.detail}`, options.now)}
    from moves m where ${itemsOf(key)} and i.ext_id = m.ext_id`);
}

export interface Placement {
  roots: readonly string[];
  /** Items that stay although they are in none of the folders: none, or those with a document. */
  spared: 'none' | 'documents';
  /** Added items wait for a free place under the document limit. */
  unseated: boolean;
  detail: string;
  limitDetail: string;
  now: Date;
}

/**
 * Lets in what is in the subtrees of some folders, or is itself one of these ids, and leaves out the
 * rest. A folder counts as soon as the source has named it as selected; one that the source reported
 * gone no more, with all that is only reached through it.
 */
export async function placeItems(database: Queryable, key: PartitionKey, options: Placement): Promise<void> {
  const inReason = options.unseated ? rawSql(`'over_limit'`) : rawSql('null::text');
  const inDetail = options.unseated ? sql`${options.limitDetail}::text` : rawSql('null::text');
  const reason = sql`(case when m.is_in then ${inReason} else 'out_of_scope' end)`;
  const detail = sql`(case when m.is_in then ${inDetail} else ${options.detail}::text end)`;
  const isIn = rawSql(`(coalesce(i.parent in (select ext_id from inside), false)
        or i.ext_id in (select ext_id from inside))`);
  await database.execute(sql`
    with recursive inside(ext_id) as (
      select r.id collate "C" from unnest(${options.roots}::text[]) as r(id)
      where not exists (select 1 from sync_items i
        where ${itemsOf(key)} and i.ext_id = r.id and i.kind = 'container' and i.state = 'gone')
      union
      select i.ext_id from inside join sync_items i on i.parent = inside.ext_id
      where ${itemsOf(key)} and i.kind = 'container' and i.state <> 'gone'
    ),
    moves as materialized (
      select i.ext_id, ${isIn} as is_in from sync_items i
      where ${itemsOf(key)} and i.kind = 'document'
        and (${isMirrored} or ${isLeftOut} and i.error_class <> 'filtered')
        and ${isIn} = (i.state = 'skipped' and i.error_class = 'out_of_scope')
        and (${isIn} or ${options.spared === 'none'} or i.document_id is null)
      order by i.ext_id for update
    )
    update sync_items i set ${moved(reason, detail, options.now)}
    from moves m where ${itemsOf(key)} and i.ext_id = m.ext_id`);
}

/** Newest first; what the source does not date comes after, in the order in which it was found. */
const newestFirst = rawSql('i.source_updated_at desc nulls last, i.created_at, i.partition_id, i.ext_id');
const waitsForPlace = rawSql(`(i.state = 'skipped' and i.error_class = 'over_limit')`);

export interface LimitOptions {
  limit: number;
  detail: string;
  now: Date;
}

/**
 * Lets the newest items of a connection in, up to its limit, and leaves out the others. Answers how many came in.
 * To be run by one at a time.
 */
export async function enforceLimit(tx: Transaction, connectionId: string, options: LimitOptions): Promise<number> {
  const { limit, detail, now } = options;
  const reason = sql`(case when m.place > ${limit} then 'over_limit' end)`;
  const [row] = await tx.query<{ admitted: number }>(sql`
    with ranked as materialized (
      select i.partition_id, i.ext_id, row_number() over (order by ${newestFirst}) as place
      from sync_items i
      where i.connection_id = ${connectionId} and i.kind = 'document' and (${isMirrored} or ${waitsForPlace})
    ),
    moves as materialized (
      select i.partition_id, i.ext_id, r.place from sync_items i
        join ranked r on r.partition_id = i.partition_id and r.ext_id = i.ext_id
      where i.connection_id = ${connectionId} and (r.place <= ${limit}) = (i.state = 'skipped') and i.state <> 'held'
      order by i.partition_id, i.ext_id for update of i
    ),
    changed as (
      update sync_items i set ${moved(reason, sql`(case when m.place > ${limit} then ${detail}::text end)`, now)}
      from moves m
      where i.connection_id = ${connectionId} and i.partition_id = m.partition_id and i.ext_id = m.ext_id
      returning i.state
    )
    select count(*) filter (where state = 'pending') as admitted from changed`);
  return row?.admitted ?? 0;
}

/** Lets the newest of those that wait into free places, and leaves nothing out. To be run by one at a time. */
export async function fillPlaces(
  tx: Transaction,
  connectionId: string,
  options: { limit: number; now: Date },
): Promise<{ admitted: number; free: number }> {
  const nothing = rawSql('null::text');
  const [row] = await tx.query<{ admitted: number; free: number }>(sql`
    with places as materialized (
      select greatest(${options.limit}::bigint - count(*), 0) as free from sync_items i
      where i.connection_id = ${connectionId} and i.kind = 'document' and ${isMirrored}
    ),
    next as materialized (
      select i.partition_id, i.ext_id from sync_items i
      where i.connection_id = ${connectionId} and i.kind = 'document' and ${waitsForPlace}
      order by ${newestFirst} limit (select free from places)
    ),
    changed as (
      update sync_items i set ${moved(nothing, nothing, options.now)}
      from next
      where i.connection_id = ${connectionId} and i.partition_id = next.partition_id and i.ext_id = next.ext_id
      returning 1
    )
    select (select count(*) from changed) as admitted, (select free from places) as free`);
  return row ?? { admitted: 0, free: 0 };
}

/** Some items of a partition that goes, locked. */
export async function lockSomeItems(tx: Transaction, key: PartitionKey, limit: number): Promise<string[]> {
  const rows = await tx.query<{ id: string }>(sql`
    select i.ext_id as id from sync_items i where ${itemsOf(key)} order by i.ext_id limit ${limit} for update`);
  return rows.map(({ id }) => id);
}

/** Notes the coverage that the items of a partition were judged for, or `dirty` before they are. */
export async function setCoverageKey(
  database: Queryable,
  key: PartitionKey,
  coverageKey: string,
  now: Date,
): Promise<void> {
  await database.execute(sql`
    update partitions set scope_key = ${coverageKey}, updated_at = ${now} where ${isPartition(key)}`);
}

/** Lets the next run judge all items of a connection again, e.g. those that the user wants back. */
export async function forgetJudgements(database: Queryable, connectionId: string): Promise<void> {
  await database.execute(sql`
    update partitions set scope_key = 'dirty' where connection_id = ${connectionId} and scope_key <> ''`);
}

export interface MissingPartition {
  /** In words, with what becomes of its documents. */
  reason: string;
  /** Null: its documents stay. */
  removeAt: Date | null;
}

/** Leaves partitions alone that are not mirrored at the moment. Their items and places stay. */
export async function missPartitions(
  database: Queryable,
  connectionId: string,
  ids: readonly string[],
  { reason, removeAt, now }: MissingPartition & { now: Date },
): Promise<void> {
  await database.execute(sql`
    update partitions set missing_since = coalesce(missing_since, ${now}), remove_at = ${removeAt}, state = 'paused',
      state_reason = ${reason}, updated_at = ${now}
    where connection_id = ${connectionId} and id = any(${ids}::text[]) and state <> 'removing'`);
}

/** Begins to remove a partition: from now on it is never gone on with, only begun anew. */
export async function startRemoval(database: Queryable, key: PartitionKey, now: Date): Promise<void> {
  await database.execute(sql`
    update partitions set state = 'removing', missing_since = coalesce(missing_since, ${now}),
      state_reason = 'Its documents are being removed.', updated_at = ${now}
    where ${isPartition(key)}`);
}

/**
 * Takes partitions back that are mirrored again: where they were, or from the start when their removal
 * had begun. Not when the selection has changed since the run read it.
 */
export async function returnPartitions(
  database: Queryable,
  connectionId: string,
  ids: readonly string[],
  options: { selection: unknown; now: Date },
): Promise<void> {
  await database.execute(sql`
    update partitions p set missing_since = null, remove_at = null, state_reason = null, updated_at = ${options.now},
      state = case when p.state = 'removing' or p.last_listed_at is null then 'new' else 'delta' end,
      position = case when p.state = 'removing' then null else p.position end,
      parked_head = case when p.state = 'removing' then null else p.parked_head end,
      listing_cursor = case when p.state = 'removing' then null else p.listing_cursor end,
      listing_started_at = case when p.state = 'removing' then null else p.listing_started_at end,
      last_listed_at = case when p.state = 'removing' then null else p.last_listed_at end,
      held_sweep = case when p.state = 'removing' then null else p.held_sweep end
    where p.connection_id = ${connectionId} and p.id = any(${ids}::text[]) and exists (
      select 1 from connections c where c.id = p.connection_id and c.selection = ${JSON.stringify(options.selection)}::jsonb)`);
}

export async function deletePartition(database: Queryable, key: PartitionKey): Promise<void> {
  await database.execute(sql`delete from partitions where ${isPartition(key)}`);
}

/** Stores which resources a connection mirrors. */
export async function changeSelection(
  tx: Transaction,
  id: string,
  selection: readonly object[],
  now: Date,
): Promise<void> {
  await tx.execute(sql`
    update connections set selection = ${JSON.stringify(selection)}::jsonb, updated_at = ${now} where id = ${id}`);
}
