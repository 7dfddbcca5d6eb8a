import { itemsOf, type PartitionKey } from './partitions.ts';
import { firstOf } from '../base/collections.ts';
import type { Queryable, Reader, Transaction } from './database.ts';
import { rowSet, type Columns, sql, type Sql } from './sql.ts';

/** Statements by which workers take items of the ledger, keep them, and give them back. */

export interface ClaimedItem {
  ext_id: string;
  custom_id: string;
  want_rev: string;
  fingerprint: string | null;
  /** Failures in a row before this claim. */
  attempts: number;
  /** Workers that were lost in a row while they held it. */
  lost_workers: number;
  document_id: string | null;
  ref: Record<string, unknown>;
}

export interface Claim {
  limit: number;
  leaseToken: string;
  now: Date;
  leaseUntil: Date;
  /** Takes those first that the source changed last. */
  newest: boolean;
}

/** Items that as many workers were lost with are taken alone, so that only one of a batch can be to blame. */
export const suspectAfter = 2;

/**
 * Takes due items for one worker, until they are finished or the lease ends. Items that failed before
 * come last, so that bad ones cannot keep good ones waiting, and those that workers were lost with after all
 * others and one by one. An item whose lease ended before it was finished has lost its worker.
 */
export async function claimItems(database: Queryable, key: PartitionKey, claim: Claim): Promise<ClaimedItem[]> {
  return database.query<ClaimedItem>(sql`
    with fresh as materialized (
      select i.ext_id from sync_items i
      where ${itemsOf(key)} and i.state in ('pending', 'fetching') and i.next_try <= ${claim.now}
        and i.lost_workers < ${suspectAfter}
      order by ${orderOf(claim)}
      limit ${claim.limit}
      for update skip locked
    ),
    again as materialized (
      select i.ext_id from sync_items i
      where ${itemsOf(key)} and i.state = 'failed' and i.next_try <= ${claim.now}
        and i.lost_workers < ${suspectAfter}
      order by i.next_try
      limit ${claim.limit} - (select count(*) from fresh)
      for update skip locked
    ),
    suspect as materialized (
      select i.ext_id from sync_items i
      where ${itemsOf(key)} and i.state in ('pending', 'fetching', 'failed') and i.next_try <= ${claim.now}
        and i.lost_workers >= ${suspectAfter} and not exists (select from fresh) and not exists (select from again)
      order by i.lost_workers, i.next_try
      limit 1
      for update skip locked
    ),
    due as (select ext_id from fresh union all select ext_id from again union all select ext_id from suspect)
    -- By an array and not by a join: one that is planned before there are statistics reads the whole partition for each.
    update sync_items i
    set state = 'fetching', lease_token = ${claim.leaseToken}, next_try = ${claim.leaseUntil},
      lost_workers = i.lost_workers + case when i.state = 'fetching' then 1 else 0 end
    where ${itemsOf(key)} and i.ext_id = any(array(select ext_id from due))
    returning i.ext_id, i.custom_id, i.want_rev, i.fingerprint, i.attempts, i.lost_workers, i.document_id, i.ref`);
}

function orderOf({ newest }: Claim): Sql {
  return newest ? sql`i.ref ->> 'updatedAt' desc nulls last, i.next_try` : sql`i.next_try`;
}

/** Keeps items that take longer than the lease. */
export async function renewItems(
  database: Queryable,
  key: PartitionKey,
  lease: { token: string; until: Date },
): Promise<void> {
  await database.execute(sql`
    update sync_items i set next_try = ${lease.until}
    where ${itemsOf(key)} and i.state = 'fetching' and i.lease_token = ${lease.token}`);
}

/** The items that this lease still holds, locked: a newer rev or a deletion may have taken them away. */
export async function lockLeased(
  tx: Transaction,
  key: PartitionKey,
  ids: readonly string[],
  leaseToken: string,
): Promise<Set<string>> {
  const rows = await tx.query<{ ext_id: string }>(sql`
    select i.ext_id from sync_items i
    where ${itemsOf(key)} and i.ext_id = any(${ids}::text[]) and i.lease_token = ${leaseToken}
    order by i.ext_id for update`);
  return new Set(rows.map((row) => row.ext_id));
}

export interface FinishedItem {
  ext_id: string;
  state: 'done' | 'skipped' | 'failed' | 'pending';
  rev: string | null;
  document_id: string | null;
  next_try: Date | null;
  error_class: string | null;
  error: string | null;
}

const finishedColumns: Columns<FinishedItem> = {
  ext_id: 'text',
  state: 'text',
  rev: 'text',
  document_id: 'text',
  next_try: 'timestamptz',
  error_class: 'text',
  error: 'text',
};

/**
 * `want_rev` stays what was listed, also when a newer revision was read: metadata and path in the row
 * are those of the listed one, so that the newer one must still count as changed when it is listed.
 */
export async function finishItems(
  tx: Queryable,
  key: PartitionKey,
  items: readonly FinishedItem[],
  options: { leaseToken: string; now: Date },
): Promise<void> {
  const set = rowSet('r', finishedColumns, items);
  const ids = items.map((item) => item.ext_id);
  await tx.execute(sql`
    update sync_items i
    set state = r.state, rev = coalesce(r.rev, i.rev), document_id = r.document_id,
      next_try = r.next_try,
      attempts = case r.state when 'done' then 0 when 'failed' then i.attempts + 1 else i.attempts end, lost_workers = 0,
      error_class = r.error_class, error = r.error, lease_token = null, updated_at = ${options.now}
    from ${set.from}
    where ${itemsOf(key)} and i.ext_id = any(${ids}::text[]) and i.ext_id = r.ext_id
      and i.lease_token = ${options.leaseToken}`);
}

/** Gives items back unfinished, as they were (a stop, not a failure). */
export async function releaseItems(
  database: Queryable,
  key: PartitionKey,
  leaseToken: string,
  now: Date,
): Promise<void> {
  await database.execute(sql`
    update sync_items i set state = 'pending', lease_token = null, next_try = ${now}
    where ${itemsOf(key)} and i.state = 'fetching' and i.lease_token = ${leaseToken}`);
}

/**
 * Whether a worker holds items, or some are due. Due ones that a claim did not get are locked by the claim of another
 * worker at this moment, or were given back since.
 */
export async function isWorkLeft(database: Reader, key: PartitionKey, now: Date): Promise<boolean> {
  const row = firstOf(
    await database.query<{ left: boolean }>(sql`
    select exists (
      select from sync_items i
      where ${itemsOf(key)} and i.state in ('pending', 'fetching', 'failed')
        and (i.state = 'fetching' or i.next_try <= ${now})
    ) as left`),
  );
  return row.left;
}

/**
 * When something is to be done next: an item is due, or a parked partition is free again. Null
 * partitions: all that the source shows.
 */
export async function nextDue(
  database: Reader,
  connectionId: string,
  partitionIds: readonly string[] | null,
): Promise<Date | null> {
  const chosen = partitionIds === null ? sql`p.missing_since is null` : sql`p.id = any(${partitionIds}::text[])`;
  const [row] = await database.query<{ due: Date | null }>(sql`
    select min(greatest(work.due, p.parked_until)) as due
    from partitions p cross join lateral (
      select min(i.next_try) as due from sync_items i
      where i.connection_id = p.connection_id and i.partition_id = p.id and i.state in ('pending', 'fetching', 'failed')
    ) work
    where p.connection_id = ${connectionId} and ${chosen}`);
  return row?.due ?? null;
}

/** Partitions in which items wait for a worker. */
export async function partitionsWithWork(database: Reader, connectionId: string, now: Date): Promise<string[]> {
  const rows = await database.query<{ id: string }>(sql`
    select p.id from partitions p
    where p.connection_id = ${connectionId} and p.missing_since is null
      and (p.parked_until is null or p.parked_until <= ${now}) and exists (
      select 1 from sync_items i
      where i.connection_id = p.connection_id and i.partition_id = p.id and i.state in ('pending', 'fetching', 'failed')
        and i.next_try <= ${now})
    order by p.id`);
  return rows.map((row) => row.id);
}
