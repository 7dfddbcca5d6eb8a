import type { Queryable } from './database.ts';
import { rowSet } from './row-set.ts';
import { rawSql, sql, type Sql } from './sql.ts';
import type { PartitionKey } from './sync-items.ts';

export interface PartitionRow {
  id: string;
  title: string | null;
  resource: string | null;
  state: string;
  epoch: number;
  parkedHead: unknown;
  listingCursor: unknown;
  listingStartedAt: Date | null;
  listingIncomplete: string | null;
  position: unknown;
  parkedUntil: Date | null;
  lastListedAt: Date | null;
  heldSweep: HeldSweep | null;
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
}

const columns = rawSql(`
  id, title, resource, state, epoch, parked_head as "parkedHead", listing_cursor as "listingCursor",
  listing_started_at as "listingStartedAt", listing_incomplete as "listingIncomplete", position,
  parked_until as "parkedUntil", last_listed_at as "lastListedAt", held_sweep as "heldSweep"`);

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

export async function listPartitions(database: Queryable, connectionId: string): Promise<PartitionRow[]> {
  return database.query<PartitionRow>(sql`
    select ${columns} from partitions where connection_id = ${connectionId} order by id`);
}

const where = (key: PartitionKey) => sql`connection_id = ${key.connectionId} and id = ${key.partitionId}`;

/** Begins a listing: a new epoch, and the position that was taken before it. */
export async function startListing(
  database: Queryable,
  key: PartitionKey,
  options: { head: unknown; relist: boolean; now: Date },
): Promise<number> {
  const [row] = await database.query<{ epoch: number }>(sql`
    update partitions
    set epoch = epoch + 1, state = ${options.relist ? 'relist' : 'backfill'}, parked_head = ${json(options.head)}::jsonb,
      listing_cursor = null, listing_incomplete = null, listing_started_at = ${options.now}, updated_at = ${options.now}
    where ${where(key)} returning epoch`);
  return row?.epoch ?? 0;
}

/** The checkpoint that goes with a page of a listing. */
export function listingCheckpoint(
  key: PartitionKey,
  page: { cursor: unknown; incomplete: string | null; now: Date },
): Sql {
  return sql`
    update partitions set listing_cursor = ${json(page.cursor)}::jsonb,
      listing_incomplete = coalesce(listing_incomplete, ${page.incomplete}), updated_at = ${page.now}
    where ${where(key)}`;
}

/** The checkpoint that goes with a page of changes. */
export function positionCheckpoint(key: PartitionKey, page: { position: unknown; now: Date }): Sql {
  return sql`
    update partitions set position = coalesce(${json(page.position)}::jsonb, position), updated_at = ${page.now}
    where ${where(key)}`;
}

/** The checkpoint of a page that moves no position. */
export function noCheckpoint(key: PartitionKey, now: Date): Sql {
  return sql`update partitions set updated_at = ${now} where ${where(key)}`;
}

export async function finishListing(
  database: Queryable,
  key: PartitionKey,
  options: { heldSweep: HeldSweep | null; now: Date },
): Promise<void> {
  await database.execute(sql`
    update partitions
    set state = 'delta', position = parked_head, parked_head = null, listing_cursor = null, listing_started_at = null,
      held_sweep = ${json(options.heldSweep)}::jsonb, last_listed_at = ${options.now}, updated_at = ${options.now}
    where ${where(key)}`);
}

export async function setHeldSweep(
  database: Queryable,
  key: PartitionKey,
  heldSweep: HeldSweep | null,
  now: Date,
): Promise<void> {
  await database.execute(sql`
    update partitions set held_sweep = ${json(heldSweep)}::jsonb, updated_at = ${now} where ${where(key)}`);
}

function json(value: unknown): string | null {
  return value === null || value === undefined ? null : JSON.stringify(value);
}
