import type { Queryable } from './database.ts';
import { rawSql, sql, type Sql } from './sql.ts';

export interface SyncRunRow extends RunCounters {
  id: string;
  connectionId: string;
  status: string;
  mode: string;
  triggerType: string;
  /** Only says what would change. */
  dryRun: boolean;
  /** Items handled: added, updated, deleted, skipped, failed. */
  itemsProcessed: number;
  /** Known once the listing is complete, or when the source tells. */
  itemsTotal: number | null;
  /** Measured over the last minute; null before there is a measure. */
  itemsPerSecond: number | null;
  error: string | null;
  errorCode: string | null;
  /** At most 50. */
  failures: RunItemFailure[];
  /** At most 50. */
  warnings: RunWarning[];
  /** Of a dry run that is complete. */
  report: DryRunReport | null;
  /** When somebody ended it. */
  cancelledAt: Date | null;
  startedAt: Date;
  completedAt: Date | null;
}

export interface RunItemFailure {
  customId: string;
  documentId: string | null;
  title: string | null;
  error: string;
}

/** Something that needs a look although the run went on. */
export interface RunWarning {
  /** Null: about the whole connection. */
  partitionId: string | null;
  code: string;
  /** The problem and how to mend it. */
  message: string;
}

/** The changes that a sync would make, with the first 50 ids of each kind. */
export interface DryRunReport {
  added: { count: number; ids: string[] };
  updated: { count: number; ids: string[] };
  deleted: { count: number; ids: string[] };
  /** Why nothing would be deleted, although something is missing: the listing is not complete. */
  incomplete: string | null;
}

const maxEntries = 50;

const columns = rawSql(`
  id, connection_id as "connectionId", status, mode, trigger_type as "triggerType", dry_run as "dryRun",
  items_seen as "itemsSeen", items_processed as "itemsProcessed", items_added as "itemsAdded",
  items_updated as "itemsUpdated", items_deleted as "itemsDeleted", items_skipped as "itemsSkipped",
  items_failed as "itemsFailed", items_total as "itemsTotal", items_per_second as "itemsPerSecond", error,
  error_code as "errorCode", failures, warnings, report, cancelled_at as "cancelledAt", started_at as "startedAt",
  completed_at as "completedAt"`);

export async function startRun(
  database: Queryable,
  run: { id: string; connectionId: string; mode: string; triggerType: string; dryRun?: boolean; now: Date },
): Promise<void> {
  await database.execute(sql`
    insert into sync_runs (id, connection_id, status, mode, trigger_type, dry_run, started_at, heartbeat_at)
    values (${run.id}, ${run.connectionId}, 'running', ${run.mode}, ${run.triggerType}, ${run.dryRun ?? false},
      ${run.now}, ${run.now})`);
}

/** A run that waited takes the shape of what is really run: requests that came later may have changed it. */
export async function takeRun(
  database: Queryable,
  id: string,
  run: { mode: string; triggerType: string; dryRun: boolean; now: Date },
): Promise<void> {
  await database.execute(sql`
    update sync_runs set mode = ${run.mode}, trigger_type = ${run.triggerType}, dry_run = ${run.dryRun},
      heartbeat_at = ${run.now}
    where id = ${id} and status = 'running'`);
}

/** The run that is under way or waits for a worker, when there is one. */
export async function waitingRun(database: Queryable, connectionId: string): Promise<SyncRunRow | null> {
  const [row] = await database.query<SyncRunRow>(sql`
    select ${columns} from sync_runs where connection_id = ${connectionId} and status = 'running' order by id desc limit 1`);
  return row ?? null;
}

export async function findRun(database: Queryable, connectionId: string, id: string): Promise<SyncRunRow | null> {
  const [row] = await database.query<SyncRunRow>(sql`
    select ${columns} from sync_runs where id = ${id} and connection_id = ${connectionId}`);
  return row ?? null;
}

export interface RunCounters {
  /** Items listed so far. */
  itemsSeen: number;
  itemsAdded: number;
  itemsUpdated: number;
  itemsDeleted: number;
  itemsSkipped: number;
  itemsFailed: number;
}

/** Progress since the last report; several processes add to one run. */
export interface RunProgress {
  counters: RunCounters;
  failures?: readonly RunItemFailure[];
  warnings?: readonly RunWarning[];
  /** Items in all, as far as they are known. */
  itemsTotal?: number | null;
  itemsPerSecond?: number | null;
}

/** Adds to the run's counters; answers how many items it has handled in all. */
export async function addToRun(database: Queryable, id: string, progress: RunProgress, now: Date): Promise<number> {
  const { counters, failures = [], warnings = [] } = progress;
  const [row] = await database.query<{ processed: number }>(sql`
    update sync_runs set items_seen = items_seen + ${counters.itemsSeen},
      items_added = items_added + ${counters.itemsAdded}, items_updated = items_updated + ${counters.itemsUpdated},
      items_deleted = items_deleted + ${counters.itemsDeleted},
      items_skipped = items_skipped + ${counters.itemsSkipped}, items_failed = items_failed + ${counters.itemsFailed},
      items_processed = items_processed + ${processed(counters)},
      items_total = coalesce(${progress.itemsTotal ?? null}::integer, items_total),
      items_per_second = coalesce(${progress.itemsPerSecond ?? null}::double precision, items_per_second),
      failures = ${appended('failures', failures)}, warnings = ${appended('warnings', warnings)}, heartbeat_at = ${now}
    where id = ${id} returning items_processed as processed`);
  return row?.processed ?? 0;
}

/** The first entries win. */
function appended(column: 'failures' | 'warnings', entries: readonly object[]): Sql {
  const stored = rawSql(column);
  if (entries.length === 0) return stored;
  return sql`(
    select coalesce(jsonb_agg(entry order by place), '[]') from
      jsonb_array_elements(${stored} || ${JSON.stringify(entries.slice(0, maxEntries))}::jsonb)
      with ordinality as entries(entry, place)
    where place <= ${maxEntries})`;
}

function processed(counters: RunCounters): number {
  return (
    counters.itemsAdded + counters.itemsUpdated + counters.itemsDeleted + counters.itemsSkipped + counters.itemsFailed
  );
}

/** State that a worker checks before it goes on: whether the run is still wanted, and who holds it. */
export interface RunState {
  runStatus: string;
  cancelled: boolean;
  connectionStatus: string;
  leaseToken: string | null;
  leaseUntil: Date | null;
}

export async function runState(database: Queryable, id: string): Promise<RunState | null> {
  const [row] = await database.query<RunState>(sql`
    select r.status as "runStatus", r.cancelled_at is not null as cancelled, c.status as "connectionStatus",
      c.lease_token as "leaseToken", c.lease_until as "leaseUntil"
    from sync_runs r join connections c on c.id = r.connection_id where r.id = ${id}`);
  return row ?? null;
}

/**
 * Ends a run on request; null when it is over already. A worker that has it stops at its next look; the
 * request of one that waits is withdrawn.
 */
export async function cancelRun(database: Queryable, id: string, now: Date): Promise<SyncRunRow | null> {
  const [row] = await database.query<SyncRunRow>(sql`
    with ended as (
      update sync_runs set status = 'failed', error = 'cancelled', error_code = null, cancelled_at = ${now},
        completed_at = ${now}, heartbeat_at = ${now}
      where id = ${id} and status = 'running' returning *
    ),
    withdrawn as (
      update connections c set requested_sync = c.requested_sync || '{"cancelled": true}'
      from ended where c.id = ended.connection_id and (c.lease_until is null or c.lease_until < ${now})
    )
    select ${columns} from ended`);
  return row ?? null;
}

/** False when the run was over already, e.g. cancelled. */
export async function finishRun(
  database: Queryable,
  id: string,
  end: { error: string | null; errorCode: string | null; report?: DryRunReport | null; now: Date },
): Promise<boolean> {
  const report = end.report ? JSON.stringify(end.report) : null;
  const count = await database.execute(sql`
    update sync_runs set status = ${end.error === null ? 'completed' : 'failed'}, error = ${end.error},
      error_code = ${end.errorCode}, report = ${report}::jsonb, completed_at = ${end.now}, heartbeat_at = ${end.now}
    where id = ${id} and status = 'running'`);
  return count === 1;
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
  options: { limit: number; before?: string | undefined },
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

interface RunRetention {
  /** Runs that began later are kept… */
  startedAfter: Date;
  /** …and so many of each connection, whatever their age… */
  atLeast: number;
  /** …but never more than so many. */
  atMost: number;
}

/** Deletes runs that are over and that nobody needs any more. */
export async function deleteOldRuns(
  database: Queryable,
  { startedAfter, atLeast, atMost }: RunRetention,
): Promise<number> {
  return database.execute(sql`
    with placed as (
      select id, started_at, row_number() over (partition by connection_id order by id desc) as place
      from sync_runs where status <> 'running')
    delete from sync_runs r using placed p
    where r.id = p.id and (p.place > ${atMost} or (p.place > ${atLeast} and p.started_at < ${startedAfter}))`);
}
