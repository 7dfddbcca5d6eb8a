import { randomUUID } from 'node:crypto';
import { firstOf } from '../base/collections.ts';
import { MemorydError } from '../base/errors.ts';
import type { Database, Queryable, Transaction, Reader } from './database.ts';
import { itemsOf, type PartitionKey } from './partitions.ts';
import { rawSql, sql, rowSet, type Columns, type Sql } from './sql.ts';

/**
 * A process that was stopped for a while, or whose link to the database stalled, does not know that
 * its lease has ended and that another one works by now. So nothing is written because a lease was
 * taken some time ago: every transaction that a lease permits locks the lease's row and compares the
 * token before it writes. Until it ends, nobody can take the lease over.
 */

/** A role that this process holds, with the token of this holding. */
export interface HeldLease {
  readonly name: string;
  readonly token: string;
}

/**
 * Takes or keeps a role that only one process may hold, until `until`. Null while another holder's
 * lease has not ended. The token stays the same for as long as nobody else had the role in between.
 */
export async function holdLease(
  database: Queryable,
  name: string,
  lease: { holder: string; until: Date; now: Date },
): Promise<HeldLease | null> {
  const [row] = await database.query<{ token: string }>(sql`
    insert into leases (name, holder, token, lease_until)
    values (${name}, ${lease.holder}, ${randomUUID()}, ${lease.until})
    on conflict (name) do update set holder = excluded.holder, lease_until = excluded.lease_until,
      token = case when leases.holder = excluded.holder then leases.token else excluded.token end
    where leases.holder = excluded.holder or leases.lease_until < ${lease.now}
    returning token`);
  return row ? { name, token: row.token } : null;
}

/** Whether anybody has the role. */
export async function isLeaseHeld(database: Queryable, name: string, now: Date): Promise<boolean> {
  const rows = await database.query(sql`select 1 from leases where name = ${name} and lease_until >= ${now}`);
  return rows.length > 0;
}

export async function releaseLease(database: Queryable, name: string, holder: string): Promise<void> {
  await database.execute(sql`delete from leases where name = ${name} and holder = ${holder}`);
}

/** Throws `lease_lost` unless the role is still held under this token; it cannot be lost before the transaction ends. */
async function assertHeld(tx: Transaction, lease: HeldLease): Promise<void> {
  const rows = await tx.query(sql`
    select 1 from leases where name = ${lease.name} and token = ${lease.token} for share`);
  if (rows.length === 0) throw leaseLost();
}

/** Runs a transaction that only the holder of a role may run. Throws `lease_lost` when that is another one by now. */
export function whileHeld<T>(database: Database, lease: HeldLease, work: (tx: Transaction) => Promise<T>): Promise<T> {
  return database.transaction(async (tx) => {
    await assertHeld(tx, lease);
    return work(tx);
  });
}

/** Every lease ends: at the start of the only process there is, whose predecessor may have been killed. */
export async function clearLeases(database: Queryable): Promise<void> {
  await database.execute(sql`delete from leases`);
}

/** A connection that one sync run has, with the token of its holder. */
export interface ConnectionLease {
  readonly connectionId: string;
  readonly token: string;
}

/**
 * The same for the run that has a connection. `alone`: no other transaction of the run goes on beside this one;
 * it must be said at the beginning, because two of them could not both ask for it later.
 */
export async function assertConnectionHeld(
  tx: Transaction,
  lease: ConnectionLease,
  strength: 'beside others' | 'alone',
): Promise<void> {
  const lock = rawSql(strength === 'alone' ? 'for update' : 'for share');
  const rows = await tx.query(sql`
    select 1 from connections where id = ${lease.connectionId} and lease_token = ${lease.token} ${lock}`);
  if (rows.length === 0) throw leaseLost();
}

function leaseLost(): MemorydError {
  return new MemorydError('lease_lost', 'Another worker has taken the work over.', { shouldRetry: false });
}

export function isLeaseLost(error: unknown): boolean {
  return MemorydError.is(error) && error.code === 'lease_lost';
}

/** Statements by which workers take items of the ledger, keep them, and give them back. */

export interface ClaimedItem {
  extId: string;
  customId: string;
  wantRev: string;
  fingerprint: string | null;
  /** Failures in a row before this claim. */
  attempts: number;
  /** Workers that were lost in a row while they held it. */
  lostWorkers: number;
  documentId: string | null;
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
    returning i.ext_id as "extId", i.custom_id as "customId", i.want_rev as "wantRev", i.fingerprint, i.attempts,
      i.lost_workers as "lostWorkers", i.document_id as "documentId", i.ref`);
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
  const rows = await tx.query<{ id: string }>(sql`
    select i.ext_id as id from sync_items i
    where ${itemsOf(key)} and i.ext_id = any(${ids}::text[]) and i.lease_token = ${leaseToken}
    order by i.ext_id for update`);
  return new Set(rows.map(({ id }) => id));
}

export interface FinishedItem {
  extId: string;
  state: 'done' | 'skipped' | 'failed' | 'pending';
  rev: string | null;
  documentId: string | null;
  nextTry: Date | null;
  errorClass: string | null;
  error: string | null;
}

const finishedColumns: Columns<FinishedItem> = {
  extId: 'text',
  state: 'text',
  rev: 'text',
  documentId: 'text',
  nextTry: 'timestamptz',
  errorClass: 'text',
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
  const ids = items.map((item) => item.extId);
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
