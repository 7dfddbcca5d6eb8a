import type { ConnectionRow } from './connections.ts';
import { itemsOf, type PartitionKey } from './partitions.ts';
import type { Queryable, Transaction } from './database.ts';
import { rowSet, type Columns, rawSql, sql } from './sql.ts';

/** The fields of a connection that a push needs. */
export type PushConnection = Pick<
  ConnectionRow,
  | 'id'
  | 'provider'
  | 'containerTag'
  | 'status'
  | 'statusReason'
  | 'config'
  | 'metadata'
  | 'filters'
  | 'documentLimit'
  | 'onSourceDelete'
>;

/** The connection, locked: pushes into it happen one after the other. */
export async function lockPushConnection(tx: Transaction, id: string): Promise<PushConnection | null> {
  const [row] = await tx.query<PushConnection>(sql`
    select id, provider, container_tag as "containerTag", status, status_reason as "statusReason", config, metadata,
      filters, document_limit as "documentLimit", on_source_delete as "onSourceDelete"
    from connections where id = ${id} for update`);
  return row ?? null;
}

export interface PushedItemRow {
  extId: string;
  customId: string;
  state: string;
  documentId: string | null;
  error: string | null;
}

export async function findPushedItems(
  tx: Queryable,
  key: PartitionKey,
  ids: readonly string[],
): Promise<Map<string, PushedItemRow>> {
  const rows = await tx.query<PushedItemRow>(sql`
    select ext_id as "extId", custom_id as "customId", state, document_id as "documentId", error from sync_items
    where connection_id = ${key.connectionId} and partition_id = ${key.partitionId} and ext_id = any(${ids}::text[])`);
  return new Map(rows.map((row) => [row.extId, row]));
}

export interface PushedDocument {
  extId: string;
  documentId: string;
}

const documentColumns: Columns<PushedDocument> = { extId: 'text', documentId: 'text' };

/** Marks items as mirrored by these documents. */
export async function finishPushedItems(
  tx: Transaction,
  key: PartitionKey,
  items: readonly PushedDocument[],
  now: Date,
): Promise<void> {
  if (items.length === 0) return;
  const set = rowSet('r', documentColumns, items);
  const ids = items.map((item) => item.extId);
  await tx.execute(sql`
    update sync_items i set state = 'done', rev = i.want_rev, document_id = r.document_id, next_try = null,
      error_class = null, error = null, updated_at = ${now}
    from ${set.from}
    where ${itemsOf(key)} and i.ext_id = any(${ids}::text[]) and i.ext_id = r.ext_id`);
}

/** Items that exist although what was pushed of them cannot be used: a snapshot shows them all the same. */
export async function markPushedSeen(
  tx: Transaction,
  key: PartitionKey,
  ids: readonly string[],
  epoch: number,
): Promise<void> {
  if (ids.length === 0) return;
  await tx.execute(sql`
    update sync_items set seen_epoch = greatest(seen_epoch, ${epoch})
    where connection_id = ${key.connectionId} and partition_id = ${key.partitionId} and ext_id = any(${ids}::text[])`);
}

export async function countPushedItems(tx: Queryable, connectionId: string): Promise<number> {
  const [row] = await tx.query<{ count: number }>(
    sql`select count(*) as count from sync_items where connection_id = ${connectionId} and document_id is not null`,
  );
  return row?.count ?? 0;
}

export interface StoredDelivery<Answer> {
  bodyHash: string;
  answer: Answer;
}

export async function findDelivery<Answer>(
  tx: Queryable,
  connectionId: string,
  deliveryId: string,
): Promise<StoredDelivery<Answer> | null> {
  const [row] = await tx.query<StoredDelivery<Answer>>(sql`
    select body_hash as "bodyHash", answer from push_deliveries
    where connection_id = ${connectionId} and delivery_id = ${deliveryId}`);
  return row ?? null;
}

export async function insertDelivery(
  tx: Queryable,
  row: { connectionId: string; deliveryId: string; bodyHash: string; answer: object; now: Date },
): Promise<void> {
  await tx.execute(sql`
    insert into push_deliveries (connection_id, delivery_id, body_hash, answer, received_at)
    values (${row.connectionId}, ${row.deliveryId}, ${row.bodyHash}, ${JSON.stringify(row.answer)}::jsonb, ${row.now})
    on conflict do nothing`);
}

export interface SnapshotRow {
  id: string;
  state: 'open' | 'completed' | 'abandoned';
  epoch: number;
  runId: string;
  nextPage: number;
  incomplete: string | null;
  startedAt: Date;
  updatedAt: Date;
}

const snapshotColumns = rawSql(`
  id, state, epoch, run_id as "runId", next_page as "nextPage", incomplete, started_at as "startedAt",
  updated_at as "updatedAt"`);

export async function findSnapshot(tx: Queryable, connectionId: string, id: string): Promise<SnapshotRow | null> {
  const [row] = await tx.query<SnapshotRow>(sql`
    select ${snapshotColumns} from push_snapshots where connection_id = ${connectionId} and id = ${id}`);
  return row ?? null;
}

/** The snapshot that was begun last, whatever became of it. */
export async function latestSnapshot(database: Queryable, connectionId: string): Promise<SnapshotRow | null> {
  const [row] = await database.query<SnapshotRow>(sql`
    select ${snapshotColumns} from push_snapshots where connection_id = ${connectionId}
    order by epoch desc, started_at desc limit 1`);
  return row ?? null;
}

/** Ends the open snapshot without removing anything; answers its run. */
export async function abandonSnapshot(tx: Transaction, connectionId: string, now: Date): Promise<string | null> {
  const [row] = await tx.query<{ runId: string }>(sql`
    update push_snapshots set state = 'abandoned', updated_at = ${now}
    where connection_id = ${connectionId} and state = 'open' returning run_id as "runId"`);
  return row?.runId ?? null;
}

export async function insertSnapshot(
  tx: Transaction,
  row: { connectionId: string; id: string; epoch: number; runId: string; now: Date },
): Promise<void> {
  await tx.execute(sql`
    insert into push_snapshots (connection_id, id, state, epoch, run_id, started_at, updated_at)
    values (${row.connectionId}, ${row.id}, 'open', ${row.epoch}, ${row.runId}, ${row.now}, ${row.now})`);
}

export async function updateSnapshot(
  tx: Queryable,
  connectionId: string,
  change: Pick<SnapshotRow, 'id' | 'state' | 'nextPage' | 'incomplete' | 'runId'> & { now: Date },
): Promise<void> {
  await tx.execute(sql`
    update push_snapshots set state = ${change.state}, next_page = ${change.nextPage},
      incomplete = ${change.incomplete}, run_id = ${change.runId}, updated_at = ${change.now}
    where connection_id = ${connectionId} and id = ${change.id}`);
}

/** The run that shows the pushes of this moment; null when the last one is over for longer. */
export async function recentPushRun(tx: Queryable, connectionId: string, endedAfter: Date): Promise<string | null> {
  const [row] = await tx.query<{ id: string }>(sql`
    select id from (
      select id, mode, status, completed_at from sync_runs where connection_id = ${connectionId}
      order by id desc limit 1) latest
    where mode = 'incremental' and status = 'completed' and completed_at > ${endedAfter}`);
  return row?.id ?? null;
}

/** Moves the end of a run that went on. */
export async function extendRun(tx: Queryable, runId: string, now: Date): Promise<void> {
  await tx.execute(sql`update sync_runs set completed_at = ${now} where id = ${runId}`);
}

/** Notes when something was pushed last. */
export async function touchPushConnection(tx: Queryable, id: string, now: Date): Promise<void> {
  await tx.execute(sql`
    update connections set last_synced_at = ${now}, next_sync_at = null, requested_sync = null where id = ${id}`);
}

/** Items that were left out are judged anew, also at the revision that they had. */
export async function forgetSkipped(tx: Transaction, key: PartitionKey, ids: readonly string[]): Promise<void> {
  await tx.execute(sql`
    update sync_items set want_rev = '' where connection_id = ${key.connectionId}
      and partition_id = ${key.partitionId} and ext_id = any(${ids}::text[]) and state = 'skipped'`);
}

/** Forgets snapshots that nobody went on with. Nothing is removed for them. */
export async function deleteOldSnapshots(database: Queryable, updatedBefore: Date): Promise<number> {
  return database.execute(sql`delete from push_snapshots where updated_at < ${updatedBefore}`);
}
