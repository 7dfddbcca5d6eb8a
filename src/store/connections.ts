import type { Queryable, Transaction } from './database.ts';
import { sql, joinSql, rawSql } from './sql.ts';
import { inContainers } from './documents.ts';
import { isToBeRead, lacksVectors } from './processing.ts';

export interface ConnectionRow {
  id: string;
  provider: string;
  containerTag: string;
  status: string;
  /** Why it is not active, and what to do. */
  statusReason: string | null;
  email: string | null;
  config: Record<string, unknown>;
  metadata: Record<string, unknown>;
  /** Chosen resources; empty: everything. */
  selection: Record<string, unknown>[];
  filters: Record<string, unknown>;
  documentLimit: number | null;
  onSourceDelete: string;
  /** Null: that of the connector, else the standard one; `manual`: only on request. */
  schedule: string | null;
  syncEveryMs: number | null;
  /** Windows in which it syncs by itself; null: at any time. */
  allowedHours: string | null;
  nextSyncAt: Date | null;
  requestedSync: RequestedSync | null;
  /** The request of the last run, if that run was interrupted. */
  runningSync: RequestedSync | null;
  failures: number;
  lastSyncedAt: Date | null;
  expiresAt: Date | null;
  /** Which content becomes a memory; null: as its container says, else the default of such sources. */
  memories: 'off' | 'facts' | 'facts+episodes' | null;
  /** `own`: mirrored content is the owner's own, unless an item names somebody else. */
  trust: 'own' | 'read';
  /** Who wrote items that name nobody. */
  author: string | null;
  /** Whether facts from this source may enter profiles. */
  inProfile: boolean;
  /** Why the source cannot be watched for now, as the process says that tried last. */
  unwatched: string | null;
  createdAt: Date;
  updatedAt: Date;
}

/** A trigger that waits: it is merged with later ones and taken when the next run starts. */
export interface RequestedSync {
  mode: 'full' | 'incremental';
  trigger: 'event' | 'cron' | 'manual';
  /** Hinted ids per partition; absent: everything. Empty: only items whose time has come. */
  hints?: Record<string, string[]> | undefined;
  /** Of a request that is under way: the run that serves it. */
  runId?: string;
  /** Only says what would change. */
  dryRun?: boolean | undefined;
  /** It was cancelled before a worker took it; nothing is left to do. */
  cancelled?: boolean;
}

/** More hinted ids than this are not worth looking up one by one. */
export const maxHintedIds = 5_000;

const columns = rawSql(`
  id, provider, container_tag as "containerTag", status, status_reason as "statusReason", email, config, metadata,
  selection, filters, document_limit as "documentLimit", on_source_delete as "onSourceDelete", schedule,
  sync_every_ms as "syncEveryMs", allowed_hours as "allowedHours", next_sync_at as "nextSyncAt", requested_sync as "requestedSync",
  running_sync as "runningSync", failures, memories, trust, author, in_profile as "inProfile", unwatched,
  last_synced_at as "lastSyncedAt", expires_at as "expiresAt", created_at as "createdAt", updated_at as "updatedAt"`);

export interface ConnectionInsert
  extends
    Pick<ConnectionRow, 'id' | 'provider' | 'containerTag' | 'status' | 'config' | 'metadata'>,
    Pick<ConnectionRow, 'documentLimit' | 'onSourceDelete' | 'schedule' | 'syncEveryMs'>,
    Partial<Pick<ConnectionRow, 'allowedHours' | 'memories' | 'trust' | 'author' | 'inProfile'>> {
  filters?: object;
  /** Default: now. */
  nextSyncAt?: Date | null;
  now: Date;
}

export async function insertConnection(tx: Transaction, row: ConnectionInsert): Promise<void> {
  await tx.execute(sql`
    insert into connections (id, provider, container_tag, status, config, metadata, filters, document_limit, on_source_delete,
      schedule, sync_every_ms, allowed_hours, next_sync_at, memories, trust, author, in_profile, created_at, updated_at)
    values (${row.id}, ${row.provider}, ${row.containerTag}, ${row.status}, ${JSON.stringify(row.config)}::jsonb,
      ${JSON.stringify(row.metadata)}::jsonb, ${JSON.stringify(row.filters ?? {})}::jsonb, ${row.documentLimit},
      ${row.onSourceDelete}, ${row.schedule}, ${row.syncEveryMs}, ${row.allowedHours ?? null}, ${row.nextSyncAt === undefined ? row.now : row.nextSyncAt},
      ${row.memories ?? null}, ${row.trust ?? 'read'}, ${row.author ?? null}, ${row.inProfile ?? false}, ${row.now}, ${row.now})`);
}

export async function findConnection(database: Queryable, id: string): Promise<ConnectionRow | null> {
  const [row] = await database.query<ConnectionRow>(sql`select ${columns} from connections where id = ${id}`);
  return row ?? null;
}

export interface ConnectionRange {
  provider?: string | undefined;
  /** Only connections with a smaller id: those that were made before. */
  before?: string | undefined;
  limit?: number | undefined;
}

/** Newest first. */
export async function listConnections(
  database: Queryable,
  tags: readonly string[] | null,
  { provider, before, limit }: ConnectionRange = {},
): Promise<ConnectionRow[]> {
  const conditions = [
    sql`status <> 'deleting' and ${inContainers(rawSql('container_tag'), tags)}`,
    ...(provider === undefined ? [] : [sql`provider = ${provider}`]),
    ...(before === undefined ? [] : [sql`id < ${before}`]),
  ];
  return database.query<ConnectionRow>(sql`
    select ${columns} from connections where ${joinSql(conditions, ' and ')}
    order by created_at desc, id desc ${limit === undefined ? rawSql('') : sql`limit ${limit}`}`);
}

/** Active connections that somebody asked to sync or whose time has come. */
export async function dueConnections(database: Queryable, now: Date, limit: number): Promise<string[]> {
  const rows = await database.query<{ id: string }>(sql`
    select id from connections
    where status = 'active' and next_sync_at <= ${now} and (lease_until is null or lease_until < ${now})
    order by next_sync_at limit ${limit}`);
  return rows.map((row) => row.id);
}

export async function setUnwatched(database: Queryable, id: string, reason: string | null): Promise<void> {
  await database.execute(sql`
    update connections set unwatched = ${reason} where id = ${id} and unwatched is distinct from ${reason}`);
}

export async function setConnectionStatus(
  database: Queryable,
  id: string,
  change: { status: string; reason: string | null; now: Date },
): Promise<void> {
  await database.execute(sql`
    update connections set status = ${change.status}, status_reason = ${change.reason}, updated_at = ${change.now}
    where id = ${id} and status <> 'deleting'`);
}

/**
 * Adds a trigger to the one that waits: full beats incremental, manual beats event, everything beats some ids.
 * With `at` it may wait until then for more of its kind, unless something else is due earlier.
 */
export async function requestSync(
  tx: Transaction,
  id: string,
  request: RequestedSync,
  { now, at = now }: { now: Date; at?: Date },
): Promise<void> {
  const [row] = await tx.query<{ requested: RequestedSync | null }>(sql`
    select requested_sync as requested from connections where id = ${id} for update`);
  if (!row) return;
  const merged = row.requested ? mergeRequests(row.requested, request) : request;
  await tx.execute(sql`
    update connections set requested_sync = ${JSON.stringify(merged)}::jsonb,
      next_sync_at = case when ${at > now} then least(next_sync_at, ${at}::timestamptz) else ${now}::timestamptz end
    where id = ${id}`);
}

/** One request for two; what was only to be tried out is done when the other is meant. */
export function mergeRequests(first: RequestedSync, second: RequestedSync): RequestedSync {
  if (first.cancelled) return second;
  if (second.cancelled) return first;
  if (!first.dryRun !== !second.dryRun) return first.dryRun ? second : first;
  if (first.dryRun) return second;
  const mode = first.mode === 'full' || second.mode === 'full' ? 'full' : 'incremental';
  const trigger = [first.trigger, second.trigger].includes('manual') ? 'manual' : second.trigger;
  if (!first.hints || !second.hints || mode === 'full') return { mode, trigger };
  const hints = { ...first.hints };
  for (const [partition, ids] of Object.entries(second.hints)) {
    hints[partition] = [...new Set([...(hints[partition] ?? []), ...ids])];
    if (hints[partition].length > maxHintedIds) return { mode, trigger };
  }
  return { mode, trigger, hints };
}

export interface Lease {
  token: string;
  until: Date;
  now: Date;
}

/** Takes a connection that is due for one run; null when it is not, or another run has it. */
export async function leaseConnection(database: Queryable, id: string, lease: Lease): Promise<ConnectionRow | null> {
  const [row] = await database.query<ConnectionRow>(sql`
    update connections set lease_token = ${lease.token}, lease_until = ${lease.until}
    where id = ${id} and status = 'active' and next_sync_at <= ${lease.now}
      and (lease_until is null or lease_until < ${lease.now})
    returning ${columns}`);
  return row ?? null;
}

/** Gives the connection back as it was; it is due again at `until`. */
export async function postponeConnection(
  database: Queryable,
  id: string,
  { token, until }: { token: string; until: Date },
): Promise<void> {
  await database.execute(sql`
    update connections set lease_token = null, lease_until = null, next_sync_at = ${until}
    where id = ${id} and lease_token = ${token}`);
}

/** The request that waits is under way, and waits no more. */
export async function takeRequest(database: Queryable, id: string, request: RequestedSync): Promise<void> {
  await database.execute(sql`
    update connections set requested_sync = null, running_sync = ${JSON.stringify(request)}::jsonb where id = ${id}`);
}

/** False when the connection was paused, removed or taken over: the run must stop. */
export async function renewConnection(database: Queryable, id: string, lease: Lease): Promise<boolean> {
  const count = await database.execute(sql`
    update connections set lease_until = ${lease.until}
    where id = ${id} and lease_token = ${lease.token} and status = 'active'`);
  return count === 1;
}

export async function releaseConnection(
  database: Queryable,
  id: string,
  change: {
    token: string;
    nextSyncAt: Date | null;
    failures: number;
    reason: string | null;
    syncedAt: Date | null;
    /** Leaves the run's request to the next run. */
    unfinished: boolean;
    now: Date;
  },
): Promise<void> {
  await database.execute(sql`
    update connections
    set lease_token = null, lease_until = null, failures = ${change.failures}, status_reason = ${change.reason},
      running_sync = case when ${change.unfinished} then running_sync end,
      next_sync_at = case when requested_sync is not null then ${change.now}::timestamptz else ${change.nextSyncAt}::timestamptz end,
      last_synced_at = coalesce(${change.syncedAt}::timestamptz, last_synced_at)
    where id = ${id} and lease_token = ${change.token}`);
}

/** Frees connections whose worker is certainly gone: at the start of the only process there is. */
export async function releaseAllConnections(database: Queryable, now: Date): Promise<void> {
  await database.execute(sql`
    update connections set lease_token = null, lease_until = null, next_sync_at = ${now} where lease_token is not null`);
}

/** Waits for what a run is just writing; its next transaction waits for this one. */
export async function lockConnection(tx: Transaction, id: string): Promise<void> {
  await tx.execute(sql`select 1 from connections where id = ${id} for update`);
}

export async function deleteConnection(tx: Transaction, id: string): Promise<void> {
  await tx.execute(sql`delete from connections where id = ${id}`);
}

/** Documents that this connection alone stands for, some at a time. */
export async function documentsOnlyOf(database: Queryable, connectionId: string, limit: number): Promise<string[]> {
  const rows = await database.query<{ id: string }>(sql`
    select d.id from documents d
    where d.connection_id = ${connectionId} and not exists (
      select 1 from sync_items o where o.document_id = d.id and o.connection_id <> ${connectionId})
    limit ${limit}`);
  return rows.map((row) => row.id);
}

/**
 * Documents that stay when their connection goes: handed to another connection that lists them, else to
 * none. What the connection said of their author they say themselves from then on.
 */
export async function releaseDocuments(tx: Transaction, connectionId: string): Promise<void> {
  await tx.execute(sql`
    update documents d set trust = case when d.trust = 'read' and d.author is null then c.trust else d.trust end,
      author = coalesce(d.author, c.author), connection_id = (
      select o.connection_id from sync_items o
      where o.document_id = d.id and o.connection_id <> ${connectionId} limit 1)
    from connections c where d.connection_id = ${connectionId} and c.id = d.connection_id`);
}

export interface DocumentCounts {
  connectionId: string;
  waiting: number;
  /** Of them those that lack their vectors only. */
  foundByWords: number;
  done: number;
  failed: number;
}

/** Reads every document of the connections; those without any are left out. */
export async function countDocumentsOf(
  database: Queryable,
  connectionIds: readonly string[],
): Promise<DocumentCounts[]> {
  return database.query(sql`
    select connection_id as "connectionId",
      count(*) filter (where status not in ('done', 'failed', 'unknown')) as waiting,
      count(*) filter (where ${lacksVectors}) as "foundByWords",
      count(*) filter (where status = 'done') as done,
      count(*) filter (where status = 'failed') as failed
    from documents where connection_id = any(${connectionIds}::text[]) and deleted_at is null
    group by connection_id`);
}

/** Reads only the documents that wait; connections without any are left out. */
export async function countOpenDocumentsOf(
  database: Queryable,
  connectionIds: readonly string[],
): Promise<Pick<DocumentCounts, 'connectionId' | 'waiting' | 'foundByWords'>[]> {
  const ofThese = sql`connection_id = any(${connectionIds}::text[])`;
  return database.query(sql`
    select connection_id as "connectionId", count(*) as waiting, count(*) filter (where is_found) as "foundByWords"
    from (
      select connection_id, false as is_found from documents where ${isToBeRead} and ${ofThese}
      union all
      select connection_id, true as is_found from documents where ${lacksVectors} and ${ofThese}) open
    group by connection_id`);
}

/** The account at the source that a connection was authorized by; null when the source did not tell. */
export async function accountIdOf(database: Queryable, connectionId: string): Promise<string | null> {
  const [row] = await database.query<{ accountId: string | null }>(
    sql`select account_id as "accountId" from connections where id = ${connectionId}`,
  );
  return row?.accountId ?? null;
}

export async function setConnectionAccount(
  database: Queryable,
  connectionId: string,
  account: { id: string; email: string | null },
): Promise<void> {
  await database.execute(sql`
    update connections set account_id = ${account.id}, email = ${account.email} where id = ${connectionId}`);
}

/** Whether another connection was authorized by the same account: to many sources the two are one grant. */
export async function isAccountShared(
  database: Queryable,
  account: { provider: string; accountId: string; exceptId: string },
): Promise<boolean> {
  const rows = await database.query(sql`
    select 1 from connections o join credentials c on c.connection_id = o.id
    where o.provider = ${account.provider} and o.account_id = ${account.accountId} and o.id <> ${account.exceptId}
      and o.status <> 'deleting' limit 1`);
  return rows.length > 0;
}
