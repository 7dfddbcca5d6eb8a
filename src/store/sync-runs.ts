import type { Queryable } from './database.ts';
import { rawSql, sql } from './sql.ts';

export interface SyncRunRow {
  id: string;
  connectionId: string;
  status: string;
  mode: string;
  triggerType: string;
  /** Items listed so far. */
  itemsSeen: number;
  /** Items handled: added, updated, deleted, skipped, failed. */
  itemsProcessed: number;
  itemsAdded: number;
  itemsUpdated: number;
  itemsDeleted: number;
  itemsSkipped: number;
  itemsFailed: number;
  /** Known once the listing is complete, or when the source tells. */
  itemsTotal: number | null;
  error: string | null;
  errorCode: string | null;
  /** At most 50. */
  failures: { customId: string; documentId: string | null; title: string | null; error: string }[];
  startedAt: Date;
  completedAt: Date | null;
}

const columns = rawSql(`
  id, connection_id as "connectionId", status, mode, trigger_type as "triggerType", items_seen as "itemsSeen",
  items_processed as "itemsProcessed", items_added as "itemsAdded", items_updated as "itemsUpdated",
  items_deleted as "itemsDeleted", items_skipped as "itemsSkipped", items_failed as "itemsFailed",
  items_total as "itemsTotal", error, error_code as "errorCode", failures, started_at as "startedAt",
  completed_at as "completedAt"`);

export async function startRun(
  database: Queryable,
  run: { id: string; connectionId: string; mode: string; triggerType: string; now: Date },
): Promise<void> {
  await database.execute(sql`
    insert into sync_runs (id, connection_id, status, mode, trigger_type, started_at, heartbeat_at)
    values (${run.id}, ${run.connectionId}, 'running', ${run.mode}, ${run.triggerType}, ${run.now}, ${run.now})`);
}

/** The run that waits for a worker, when there is one. */
export async function waitingRun(database: Queryable, connectionId: string): Promise<SyncRunRow | null> {
  const [row] = await database.query<SyncRunRow>(sql`
    select ${columns} from sync_runs where connection_id = ${connectionId} and status = 'running' order by id desc limit 1`);
  return row ?? null;
}

export interface RunCounters {
  itemsSeen: number;
  itemsAdded: number;
  itemsUpdated: number;
  itemsDeleted: number;
  itemsSkipped: number;
  itemsFailed: number;
  itemsTotal: number | null;
}

export async function reportRun(database: Queryable, id: string, counters: RunCounters, now: Date): Promise<void> {
  await database.execute(sql`
    update sync_runs set items_seen = ${counters.itemsSeen}, items_added = ${counters.itemsAdded},
      items_updated = ${counters.itemsUpdated}, items_deleted = ${counters.itemsDeleted},
      items_skipped = ${counters.itemsSkipped}, items_failed = ${counters.itemsFailed},
      items_processed = ${processed(counters)}, items_total = ${counters.itemsTotal}, heartbeat_at = ${now}
    where id = ${id}`);
}

function processed(counters: RunCounters): number {
  return (
    counters.itemsAdded + counters.itemsUpdated + counters.itemsDeleted + counters.itemsSkipped + counters.itemsFailed
  );
}

export async function finishRun(
  database: Queryable,
  id: string,
  end: { error: string | null; errorCode: string | null; failures: SyncRunRow['failures']; now: Date },
): Promise<void> {
  await database.execute(sql`
    update sync_runs set status = ${end.error === null ? 'completed' : 'failed'}, error = ${end.error},
      error_code = ${end.errorCode}, failures = ${JSON.stringify(end.failures)}::jsonb, completed_at = ${end.now},
      heartbeat_at = ${end.now}
    where id = ${id} and status = 'running'`);
}

/** Ends runs whose worker died; the next trigger goes on from the last checkpoint. */
export async function failLostRuns(
  database: Queryable,
  options: { heartbeatBefore: Date; now: Date },
): Promise<number> {
  return database.execute(sql`
    update sync_runs set status = 'failed', error = 'The worker stopped in the middle of the run; the next one goes on from there.',
      error_code = 'internal', completed_at = ${options.now}
    where status = 'running' and heartbeat_at < ${options.heartbeatBefore}`);
}

export async function listRuns(
  database: Queryable,
  connectionId: string,
  options: { limit: number; before?: string },
): Promise<SyncRunRow[]> {
  const before = options.before === undefined ? sql`true` : sql`id < ${options.before}`;
  return database.query<SyncRunRow>(sql`
    select ${columns} from sync_runs where connection_id = ${connectionId} and ${before}
    order by id desc limit ${options.limit}`);
}

/** The newest run of each connection. */
export async function latestRuns(database: Queryable, connectionIds: readonly string[]): Promise<SyncRunRow[]> {
  return database.query<SyncRunRow>(sql`
    select ${columns} from sync_runs
    where id in (
      select (select r.id from sync_runs r where r.connection_id = c.id order by r.id desc limit 1)
      from unnest(${connectionIds}::text[]) as c(id))`);
}
