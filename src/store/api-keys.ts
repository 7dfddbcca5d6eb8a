import type { Database, Queryable, Transaction } from './database.ts';
import type { KeyQuota } from './quotas.ts';
import { lockOrganization } from './settings.ts';
import { sql } from './sql.ts';

export type Permission = 'read' | 'write';

/** One container that a scoped key may use. */
export interface Grant {
  containerTag: string;
  permission: Permission;
}

export interface ApiKeyRow {
  id: string;
  name: string;
  kind: 'full' | 'scoped';
  permission: Permission;
  /** SHA-256 of the key as 64 hex digits. */
  hash: string;
  /** The first characters of the key. */
  prefix: string;
  grants: Grant[];
  enabled: boolean;
  rateLimitMax: number | null;
  rateLimitWindowMs: number | null;
  createdAt: Date;
  lastUsedAt: Date | null;
  expiresAt: Date | null;
  /** Under which what the key holds is counted: its own id, or that of the key that it replaced. */
  usageId: string;
  quota: KeyQuota;
}

export const apiKeyColumns = sql`id, name, kind, permission, hash, prefix, grants, enabled,
  rate_limit_max as "rateLimitMax", rate_limit_window_ms as "rateLimitWindowMs",
  created_at as "createdAt", last_used_at as "lastUsedAt", expires_at as "expiresAt",
  coalesce(usage_id, id) as "usageId", jsonb_build_object('documents', quota_documents, 'bytes', quota_bytes) as quota`;

/** Returns false, and changes nothing, when a key with this hash exists. */
export async function insertApiKey(database: Queryable, row: ApiKeyRow): Promise<boolean> {
  const inserted = await database.execute(sql`
    insert into api_keys (id, name, kind, permission, hash, prefix, grants, enabled,
      rate_limit_max, rate_limit_window_ms, created_at, last_used_at, expires_at, usage_id, quota_documents, quota_bytes)
    values (${row.id}, ${row.name}, ${row.kind}, ${row.permission}, ${row.hash}, ${row.prefix},
      ${JSON.stringify(row.grants)}::jsonb, ${row.enabled}, ${row.rateLimitMax}, ${row.rateLimitWindowMs},
      ${row.createdAt}, ${row.lastUsedAt}, ${row.expiresAt}, ${row.usageId}, ${row.quota.documents}, ${row.quota.bytes})
    on conflict (hash) do nothing`);
  return inserted === 1;
}

/** Gives a key another secret; the old one stops working, and whoever signed in to the console with it is signed out. */
export async function replaceApiKeySecret(
  database: Queryable,
  id: string,
  secret: { hash: string; prefix: string },
): Promise<void> {
  await database.execute(sql`
    with old_links as (delete from console_links where key_id = ${id}),
      old_sessions as (delete from console_sessions where key_id = ${id})
    update api_keys set hash = ${secret.hash}, prefix = ${secret.prefix}, enabled = true, expires_at = null
    where id = ${id}`);
}

export async function findApiKeyByHash(database: Queryable, hash: string): Promise<ApiKeyRow | null> {
  const rows = await database.query<ApiKeyRow>(sql`select ${apiKeyColumns} from api_keys where hash = ${hash}`);
  return rows[0] ?? null;
}

export async function findApiKey(database: Queryable, id: string): Promise<ApiKeyRow | null> {
  const rows = await database.query<ApiKeyRow>(sql`select ${apiKeyColumns} from api_keys where id = ${id}`);
  return rows[0] ?? null;
}

/** Locked until the transaction ends. */
export async function lockApiKey(tx: Transaction, id: string): Promise<ApiKeyRow | null> {
  const rows = await tx.query<ApiKeyRow>(sql`select ${apiKeyColumns} from api_keys where id = ${id} for update`);
  return rows[0] ?? null;
}

export async function expireApiKey(tx: Transaction, id: string, at: Date): Promise<void> {
  await tx.execute(sql`update api_keys set expires_at = ${at} where id = ${id}`);
}

/** Writes name and limits. The quota is that of all keys that replaced each other. */
export async function writeApiKey(tx: Transaction, row: ApiKeyRow): Promise<void> {
  await tx.execute(sql`
    update api_keys set name = ${row.name}, rate_limit_max = ${row.rateLimitMax},
      rate_limit_window_ms = ${row.rateLimitWindowMs}
    where id = ${row.id}`);
  await tx.execute(sql`
    update api_keys set quota_documents = ${row.quota.documents}, quota_bytes = ${row.quota.bytes}
    where coalesce(usage_id, id) = ${row.usageId}`);
}

/** Newest first. */
export function listApiKeys(database: Queryable): Promise<ApiKeyRow[]> {
  return database.query<ApiKeyRow>(sql`select ${apiKeyColumns} from api_keys order by id desc`);
}

export async function deleteApiKey(database: Queryable, id: string): Promise<boolean> {
  return (await database.execute(sql`delete from api_keys where id = ${id}`)) === 1;
}

/** Turns a key off when it is on, and on when it is off. Null when there is none. */
export async function toggleApiKey(database: Queryable, id: string): Promise<boolean | null> {
  const rows = await database.query<{ enabled: boolean }>(
    sql`update api_keys set enabled = not enabled where id = ${id} returning enabled`,
  );
  return rows[0]?.enabled ?? null;
}

/** Moves `last_used_at` forward, never back: several processes write it. */
export async function touchApiKey(database: Queryable, id: string, usedAt: Date): Promise<void> {
  await database.execute(sql`
    update api_keys set last_used_at = ${usedAt}
    where id = ${id} and (last_used_at is null or last_used_at < ${usedAt})`);
}

/**
 * Makes a key when there is none at all. The lock on the organization's row lets only one of
 * several processes that start together do it. Returns whether this call made it.
 */
export function insertFirstApiKey(database: Database, row: ApiKeyRow): Promise<boolean> {
  return database.transaction(async (tx) => {
    await lockOrganization(tx);
    const existing = await tx.query(sql`select id from api_keys limit 1`);
    if (existing.length > 0) return false;
    return insertApiKey(tx, row);
  });
}
