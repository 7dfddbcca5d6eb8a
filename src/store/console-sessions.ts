import { apiKeyColumns, type ApiKeyRow } from './api-keys.ts';
import type { Queryable } from './database.ts';
import { sql } from './sql.ts';

export interface ConsoleSessionRow {
  /** SHA-256 of what the cookie holds, as 64 hex digits. */
  hash: string;
  /** Null: of the local token. */
  keyId: string | null;
  createdAt: Date;
  expiresAt: Date;
}

export async function insertConsoleSession(database: Queryable, row: ConsoleSessionRow): Promise<void> {
  await database.execute(sql`
    insert into console_sessions (hash, key_id, created_at, expires_at)
    values (${row.hash}, ${row.keyId}, ${row.createdAt}, ${row.expiresAt})`);
}

/** Null when there is none, or when it is over. `key`: as it is now, null for that of the local token. */
export async function findConsoleSession(
  database: Queryable,
  hash: string,
  now: Date,
): Promise<{ endsAt: Date; key: ApiKeyRow | null } | null> {
  const [row] = await database.query<ApiKeyRow & { endsAt: Date }>(sql`
    select s.expires_at as "endsAt", k.*
    from console_sessions s left join (select ${apiKeyColumns} from api_keys) k on k.id = s.key_id
    where s.hash = ${hash} and s.expires_at > ${now}`);
  if (!row) return null;
  const { endsAt, ...key } = row;
  return { endsAt, key: key.id === null ? null : key };
}

export async function deleteConsoleSession(database: Queryable, hash: string): Promise<void> {
  await database.execute(sql`delete from console_sessions where hash = ${hash}`);
}

/** With the links of the same key. `keyId` is null for those of the local token. */
export async function deleteConsoleSessionsOf(database: Queryable, keyId: string | null): Promise<void> {
  await database.execute(sql`
    with links as (delete from console_links where key_id is not distinct from ${keyId})
    delete from console_sessions where key_id is not distinct from ${keyId}`);
}

export async function insertConsoleLink(
  database: Queryable,
  row: Pick<ConsoleSessionRow, 'hash' | 'keyId' | 'expiresAt'>,
): Promise<void> {
  await database.execute(sql`
    insert into console_links (hash, key_id, expires_at) values (${row.hash}, ${row.keyId}, ${row.expiresAt})`);
}

/** Uses a link up: one of several processes that try at once gets its key. Null when there is none, or it is over. */
export async function useConsoleLink(
  database: Queryable,
  hash: string,
  now: Date,
): Promise<{ keyId: string | null } | null> {
  const [row] = await database.query<{ keyId: string | null }>(sql`
    delete from console_links where hash = ${hash} and expires_at > ${now} returning key_id as "keyId"`);
  return row ?? null;
}

/** Sessions and links. */
export async function deleteEndedConsoleSessions(database: Queryable, now: Date): Promise<void> {
  await database.execute(sql`delete from console_sessions where expires_at <= ${now}`);
  await database.execute(sql`delete from console_links where expires_at <= ${now}`);
}
