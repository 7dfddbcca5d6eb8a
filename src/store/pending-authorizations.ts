import type { Queryable } from './database.ts';
import { rawSql, sql } from './sql.ts';

export type AuthorizationOutcome = 'connected' | 'access_denied' | 'exchange_failed';

export interface PendingAuthorizationRow {
  stateHash: string;
  provider: string;
  connectionId: string;
  /** Sealed; null once it is used. */
  request: string | null;
  redirectUrl: string | null;
  outcome: AuthorizationOutcome | null;
  createdAt: Date;
  expiresAt: Date;
  usedAt: Date | null;
}

const columns = rawSql(`
  state_hash as "stateHash", provider, connection_id as "connectionId", request, redirect_url as "redirectUrl", outcome,
  created_at as "createdAt", expires_at as "expiresAt", used_at as "usedAt"`);

export interface PendingAuthorizationInsert extends Omit<PendingAuthorizationRow, 'outcome' | 'createdAt' | 'usedAt'> {
  request: string;
  now: Date;
}

export async function insertPendingAuthorization(database: Queryable, row: PendingAuthorizationInsert): Promise<void> {
  await database.execute(sql`
    insert into pending_authorizations (state_hash, provider, connection_id, request, redirect_url, created_at, expires_at)
    values (${row.stateHash}, ${row.provider}, ${row.connectionId}, ${row.request}, ${row.redirectUrl}, ${row.now},
      ${row.expiresAt})`);
}

/** Uses a state, which works once and until it expires; null when it does not. */
export async function usePendingAuthorization(
  database: Queryable,
  key: { stateHash: string; provider: string; now: Date },
): Promise<PendingAuthorizationRow | null> {
  const [row] = await database.query<PendingAuthorizationRow>(sql`
    update pending_authorizations set used_at = ${key.now}
    where state_hash = ${key.stateHash} and provider = ${key.provider} and used_at is null and expires_at > ${key.now}
    returning ${columns}`);
  return row ?? null;
}

/** One that was made, used and expired ones too. */
export async function findPendingAuthorization(
  database: Queryable,
  key: { stateHash: string; provider: string },
): Promise<PendingAuthorizationRow | null> {
  const [row] = await database.query<PendingAuthorizationRow>(sql`
    select ${columns} from pending_authorizations
    where state_hash = ${key.stateHash} and provider = ${key.provider}`);
  return row ?? null;
}

/** Stores the outcome and erases the request. */
export async function finishPendingAuthorization(
  database: Queryable,
  stateHash: string,
  outcome: AuthorizationOutcome,
): Promise<void> {
  await database.execute(sql`
    update pending_authorizations set outcome = ${outcome}, request = null where state_hash = ${stateHash}`);
}

/** The newest one for a connection. */
export async function latestPendingAuthorization(
  database: Queryable,
  connectionId: string,
): Promise<PendingAuthorizationRow | null> {
  const [row] = await database.query<PendingAuthorizationRow>(sql`
    select ${columns} from pending_authorizations where connection_id = ${connectionId}
    order by created_at desc limit 1`);
  return row ?? null;
}

export async function deletePendingAuthorizations(database: Queryable, expiredBefore: Date): Promise<void> {
  await database.execute(sql`delete from pending_authorizations where expires_at < ${expiredBefore}`);
}

/** Those for a connection: their links lead nowhere any more. */
export async function cancelPendingAuthorizations(database: Queryable, connectionId: string): Promise<void> {
  await database.execute(sql`delete from pending_authorizations where connection_id = ${connectionId}`);
}
