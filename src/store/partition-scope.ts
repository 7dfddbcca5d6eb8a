import { isPartition, type PartitionKey } from './partitions.ts';
import type { Queryable, Transaction } from './database.ts';
import { sql } from './sql.ts';

/** Statements about which partitions a connection mirrors, and for which scope their items were judged. */

/** Notes the scope that the items of a partition were judged for, or `dirty` before they are. */
export async function setScopeKey(database: Queryable, key: PartitionKey, scopeKey: string, now: Date): Promise<void> {
  await database.execute(sql`
    update partitions set scope_key = ${scopeKey}, updated_at = ${now} where ${isPartition(key)}`);
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
