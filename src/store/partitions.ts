import type { Reader, Transaction, Queryable } from './database.ts';
import { rowSet, sql, rawSql, type Sql } from './sql.ts';

/** The part of the ledger that a statement is about. */
export interface PartitionKey {
  connectionId: string;
  partitionId: string;
}

/** The condition that picks it out of `partitions`. */
export const isPartition = (key: PartitionKey) => sql`connection_id = ${key.connectionId} and id = ${key.partitionId}`;

/** The condition that picks what belongs to it out of another table. */
export const ofPartition = (key: PartitionKey) =>
  sql`connection_id = ${key.connectionId} and partition_id = ${key.partitionId}`;

/** The same for `sync_items i`. */
export const itemsOf = (key: PartitionKey) =>
  sql`i.connection_id = ${key.connectionId} and i.partition_id = ${key.partitionId}`;

export interface PartitionRow {
  id: string;
  title: string | null;
  resource: string | null;
  state: string;
  /** Why it is parked or paused, in words. */
  stateReason: string | null;
  /** The same as a code. */
  problem: string | null;
  /** Runs in a row that ended with a problem here. */
  failures: number;
  epoch: number;
  listingCursor: unknown;
  listingStartedAt: Date | null;
  listingIncomplete: string | null;
  /** Parts that the listing under way cannot see. */
  listingUnread: UnreadPart[];
  /** Parts that the last listing could not see. */
  unread: UnreadPart[];
  /** The listing that is under way has shown everything. */
  listingShown: boolean;
  /** Which of several listings is under way, from 0; null: there is only one. */
  listingPass: number | null;
  /** Items that the last listing left out and that the source was not asked about yet. */
  unconfirmed: number;
  /** The cursor from which `changes` goes on; null: there is no feed, or it was not begun. */
  changesCursor: unknown;
  parkedUntil: Date | null;
  lastListedAt: Date | null;
  /** The selection that the last listing, or the one under way, was made for, as a key; '' is everything. */
  listedFor: string;
  /** The run that listed it last. */
  listedRun: string | null;
  heldSweep: HeldSweep | null;
  /** The coverage that its items were judged for; '' is everything. */
  coverageKey: string;
  /** Since when the source no longer shows it. */
  missingSince: Date | null;
  /** When its documents go because it is missing; null: they stay. */
  removeAt: Date | null;
}

/** A part of a source that could not be read, and why. */
export interface UnreadPart {
  path: string;
  reason: string;
}

/** Documents that went within an hour because they were missing. */
export interface RecentRemoval {
  /** When the hour began, in milliseconds since the epoch. */
  hourMs: number;
  count: number;
}

/** A sweep that the brake holds. */
export interface HeldSweep {
  count: number;
  of: number;
  /** Names the items, to tell whether a later listing misses the same ones. */
  digest: string;
  /** ISO 8601. */
  heldAt: string;
  /** Somebody said yes. */
  confirmed?: boolean;
  /** Somebody said no: these items are kept for as long as just these are missed. */
  rejected?: boolean;
}

/** Nobody has said yes or no yet. */
export function isPending(held: HeldSweep | null): held is HeldSweep {
  return held !== null && !held.confirmed && !held.rejected;
}

/** Items whose removal waits for an answer. */
export function heldDeletesOf(partitions: readonly { heldSweep: HeldSweep | null }[]): number {
  return partitions.reduce((sum, { heldSweep }) => sum + (isPending(heldSweep) ? heldSweep.count : 0), 0);
}

const columns = rawSql(`
  id, title, resource, state, state_reason as "stateReason", problem, failures, epoch, listing_cursor as "listingCursor",
  listing_started_at as "listingStartedAt", listing_incomplete as "listingIncomplete",
  listing_unread as "listingUnread", unread, listing_shown as "listingShown", listing_pass as "listingPass", unconfirmed, position as "changesCursor",
  parked_until as "parkedUntil", last_listed_at as "lastListedAt", listed_for as "listedFor", listed_run as "listedRun", held_sweep as "heldSweep",
  scope_key as "coverageKey", missing_since as "missingSince", remove_at as "removeAt"`);

/** Makes the partitions that do not exist yet and answers all of them. */
export async function upsertPartitions(
  database: Queryable,
  connectionId: string,
  partitions: readonly { id: string; title: string | null; resource: string | null }[],
  now: Date,
): Promise<PartitionRow[]> {
  const set = rowSet('r', { id: 'text', title: 'text', resource: 'text' }, partitions);
  await database.execute(sql`
    insert into partitions (connection_id, ${set.names}, created_at, updated_at)
    select ${connectionId}, ${set.select}, ${now}::timestamptz, ${now}::timestamptz from ${set.from}
    on conflict (connection_id, id) do update set title = excluded.title, resource = excluded.resource`);
  return listPartitions(database, connectionId);
}

export async function listPartitions(database: Reader, connectionId: string): Promise<PartitionRow[]> {
  return database.query<PartitionRow>(sql`
    select ${columns} from partitions where connection_id = ${connectionId} order by id`);
}

/** Those of several connections that are not, or not wholly, mirrored for now. */
export async function troubledPartitions(
  database: Reader,
  connectionIds: readonly string[],
): Promise<(PartitionRow & { connectionId: string })[]> {
  return database.query(sql`
    select connection_id as "connectionId", ${columns} from partitions
    where connection_id = any(${connectionIds}::text[]) and (problem is not null or missing_since is not null
      or unread <> '[]' or (listing_incomplete is not null and listing_started_at is null))
    order by connection_id, id`);
}

/** One of several listings of the same epoch. */
export interface ListingPass {
  /** From 0. */
  pass: number;
  /** Items that no listing before it showed. */
  news: number;
  /** Listings in a row before it that showed nothing new. */
  quiet: number;
}

/** Null when the partition is listed once. */
export async function readPass(database: Reader, key: PartitionKey): Promise<ListingPass | null> {
  const [row] = await database.query<ListingPass>(sql`
    select listing_pass as pass, listing_news as news, listing_quiet as quiet
    from partitions where ${isPartition(key)} and listing_pass is not null`);
  return row ?? null;
}

/** Begins a listing: a new epoch, and the cursor of changes that was taken before it. `isRepeated`: it is the first of several. */
export async function startListing(
  database: Queryable,
  key: PartitionKey,
  options: { head: unknown; relist: boolean; isRepeated?: boolean; listedFor?: string; now: Date },
): Promise<number> {
  const [row] = await database.query<{ epoch: number }>(sql`
    update partitions
    set epoch = epoch + 1, state = ${options.relist ? 'relist' : 'backfill'}, parked_head = ${json(options.head)}::jsonb,
      listing_cursor = null, listing_incomplete = null, listing_unread = '[]', listing_shown = false,
      listing_pass = ${options.isRepeated ? 0 : null}::integer, listing_news = 0, listing_quiet = 0, unconfirmed = 0,
      listed_for = ${options.listedFor ?? ''}, listing_started_at = ${options.now}, updated_at = ${options.now}
    where ${isPartition(key)} returning epoch`);
  return row?.epoch ?? 0;
}

/** The checkpoint that goes with a page of a listing. */
export function listingCheckpoint(
  key: PartitionKey,
  page: { cursor: unknown; incomplete: string | null; unread: readonly UnreadPart[]; shown: boolean; now: Date },
): Sql {
  return sql`
    update partitions set listing_cursor = ${json(page.cursor)}::jsonb, listing_shown = ${page.shown},
      listing_incomplete = ${page.incomplete}, listing_unread = ${json(page.unread)}::jsonb, updated_at = ${page.now}
    where ${isPartition(key)}`;
}

/** Parts that a listing without checkpoints could not show so far. */
export async function noteUnread(
  database: Queryable,
  key: PartitionKey,
  unread: readonly UnreadPart[],
  now: Date,
): Promise<void> {
  await database.execute(sql`
    update partitions set listing_unread = ${json(unread)}::jsonb, updated_at = ${now} where ${isPartition(key)}`);
}

/** The checkpoint that goes with a page of changes. */
export function changesCheckpoint(key: PartitionKey, page: { cursor: unknown; now: Date }): Sql {
  return sql`
    update partitions set position = coalesce(${json(page.cursor)}::jsonb, position), updated_at = ${page.now}
    where ${isPartition(key)}`;
}

/** The checkpoint of a page that moves no cursor. */
export function noCheckpoint(key: PartitionKey, now: Date): Sql {
  return sql`update partitions set updated_at = ${now} where ${isPartition(key)}`;
}

/** Without `heldSweep`, what is held stays as it is. `unconfirmed`: items that are still to be asked about. */
export async function finishListing(
  database: Queryable,
  key: PartitionKey,
  options: { heldSweep?: HeldSweep | null | undefined; runId?: string; unconfirmed?: number; now: Date },
): Promise<void> {
  await database.execute(sql`
    update partitions
    set state = 'delta', listed_run = ${options.runId ?? null}, position = parked_head, parked_head = null, listing_cursor = null, listing_started_at = null, listing_pass = null,
      unconfirmed = ${options.unconfirmed ?? 0},
      unread = listing_unread, listing_unread = '[]', held_sweep = ${options.heldSweep === undefined ? rawSql('held_sweep') : heldOrAnswered(options.heldSweep)},
      last_listed_at = ${options.now}, updated_at = ${options.now}
    where ${isPartition(key)}`);
}

/** A listing whose cursor the source no longer knows begins again, in the same epoch. */
export async function restartListing(database: Queryable, key: PartitionKey, now: Date): Promise<void> {
  await database.execute(sql`
    update partitions set listing_cursor = null, updated_at = ${now} where ${isPartition(key)}`);
}

/**
 * Ledger rows that a listing has shown so far, those that it has not, and the items that the run has removed meanwhile.
 * `shown`: ids that it has shown and that are not written down.
 */
export async function countListed(
  database: Reader,
  key: PartitionKey,
  listing: { epoch: number; runId: string; shown: readonly string[] },
): Promise<{ rows: number; missing: number; removed: number }> {
  // The keys of an object are found by halving, whatever the planner knows of the table; an array would be read for each row.
  const shown = sql`(select jsonb_object(ids, ids) from (select ${listing.shown}::text[] as ids) given)`;
  const [row] = await database.query<{ rows: number; missing: number; removed: number }>(sql`
    select count(*) filter (where is_shown) as rows,
      count(*) filter (where seen_epoch < ${listing.epoch} and not is_shown) as missing,
      coalesce((select items_deleted from sync_runs where id = ${listing.runId}), 0) as removed
    from (
      select seen_epoch, seen_epoch = ${listing.epoch} or ${shown} ? ext_id as is_shown from sync_items
      where connection_id = ${key.connectionId} and partition_id = ${key.partitionId}
      offset 0) listed`);
  return row ?? { rows: 0, missing: 0, removed: 0 };
}

export interface PartitionProblem {
  /** `paused`: somebody has to do something at the source. `parked`: it only takes time. */
  state: 'parked' | 'paused';
  problem: string;
  reason: string;
  until: Date;
}

/** Leaves a partition alone until a time. Its items and its place stay as they are. */
export async function parkPartition(
  database: Queryable,
  key: PartitionKey,
  problem: PartitionProblem,
  now: Date,
): Promise<void> {
  await database.execute(sql`
    update partitions set state = ${problem.state}, state_reason = ${problem.reason}, problem = ${problem.problem},
      parked_until = ${problem.until}, failures = failures + 1, updated_at = ${now}
    where ${isPartition(key)} and state <> 'removing'`);
}

/** A partition that went well again; writes nothing when it did before. */
export async function unparkPartition(database: Queryable, key: PartitionKey, now: Date): Promise<void> {
  await database.execute(sql`
    update partitions set state_reason = null, problem = null, parked_until = null, failures = 0, updated_at = ${now},
      state = case when listing_started_at is null and last_listed_at is not null then 'delta'
        when last_listed_at is not null then 'relist' when listing_started_at is not null then 'backfill' else 'new' end
    where ${isPartition(key)} and problem is not null and state <> 'removing'`);
}

const hourMs = 60 * 60_000;

/** Notes that documents went because they were missing, and forgets what is longer ago than `windowMs`. */
export async function noteRemovals(
  tx: Transaction,
  key: PartitionKey,
  options: { count: number; windowMs: number; now: Date },
): Promise<void> {
  const nowMs = options.now.getTime();
  const thisHourMs = nowMs - (nowMs % hourMs);
  const [row] = await tx.query<{ removals: RecentRemoval[] }>(sql`
    select recent_removals as removals from partitions where ${isPartition(key)} for update`);
  const removals = (row?.removals ?? []).filter((one) => nowMs - one.hourMs < options.windowMs + hourMs);
  const current = removals.find((one) => one.hourMs === thisHourMs);
  if (current) current.count += options.count;
  else removals.push({ hourMs: thisHourMs, count: options.count });
  await tx.execute(sql`
    update partitions set recent_removals = ${JSON.stringify(removals)}::jsonb where ${isPartition(key)}`);
}

/** Begins to count anew, after somebody or a second look has said that removals are meant. */
export async function forgetRemovals(tx: Transaction, key: PartitionKey): Promise<void> {
  await tx.execute(sql`update partitions set recent_removals = '[]' where ${isPartition(key)}`);
}

/** What a run holds. Somebody may have answered since the run has looked; of the same items the answer stays. */
function heldOrAnswered(held: HeldSweep | null): Sql {
  return sql`case when held_sweep ->> 'digest' = ${held?.digest ?? null} then held_sweep else ${json(held)}::jsonb end`;
}

/** Holds what is missing; an answer to the same items stays. */
export async function holdSweep(database: Queryable, key: PartitionKey, held: HeldSweep, now: Date): Promise<void> {
  await database.execute(sql`
    update partitions set held_sweep = ${heldOrAnswered(held)}, updated_at = ${now} where ${isPartition(key)}`);
}

export async function setHeldSweep(
  database: Queryable,
  key: PartitionKey,
  heldSweep: HeldSweep | null,
  now: Date,
): Promise<void> {
  await database.execute(sql`
    update partitions set held_sweep = ${json(heldSweep)}::jsonb, updated_at = ${now} where ${isPartition(key)}`);
}

function json(value: unknown): string | null {
  return value === null || value === undefined ? null : JSON.stringify(value);
}

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** A connector's records of a partition whose names begin with `prefix`. */
export async function readRecords(database: Reader, key: PartitionKey, prefix: string): Promise<Record<string, Json>> {
  const rows = await database.query<{ name: string; value: Json }>(sql`
    select name, value from partition_records where ${ofPartition(key)} and starts_with(name, ${prefix}) order by name`);
  return Object.fromEntries(rows.map(({ name, value }) => [name, value]));
}

/** Writes some records, and removes those that are null. */
export async function writeRecords(
  tx: Transaction,
  key: PartitionKey,
  records: Readonly<Record<string, Json | null>>,
): Promise<void> {
  const entries = Object.entries(records);
  const removed = entries.flatMap(([name, value]) => (value === null ? [name] : []));
  const kept = entries.flatMap(([name, value]) => (value === null ? [] : [{ name, value }]));
  if (removed.length > 0) {
    await tx.execute(sql`
      delete from partition_records where ${ofPartition(key)} and name = any(${removed}::text[])`);
  }
  if (kept.length === 0) return;
  const set = rowSet('r', { name: 'text', value: 'jsonb' }, kept);
  await tx.execute(sql`
    insert into partition_records (connection_id, partition_id, ${set.names})
    select ${key.connectionId}, ${key.partitionId}, ${set.select} from ${set.from}
    on conflict (connection_id, partition_id, name) do update set value = excluded.value`);
}

/** Those whose deletions the brake has held, confirmed ones too. */
export async function heldSweepsOf(
  database: Queryable,
  connectionIds: readonly string[],
): Promise<{ connectionId: string; heldSweep: HeldSweep }[]> {
  return database.query(sql`
    select connection_id as "connectionId", held_sweep as "heldSweep" from partitions
    where held_sweep is not null and connection_id = any(${connectionIds}::text[])`);
}
