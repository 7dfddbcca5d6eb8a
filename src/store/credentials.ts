import type { Queryable } from './database.ts';
import { rawSql, sql } from './sql.ts';

export interface CredentialRow {
  connectionId: string;
  kind: CredentialKind;
  /** Sealed. */
  fields: string | null;
  /** Sealed. */
  token: string | null;
  renewable: boolean;
  expiresAt: Date | null;
  renewAt: Date | null;
  version: number;
  lockUntil: Date | null;
  renewingSince: Date | null;
  coolDownUntil: Date | null;
  failure: string | null;
  denied: boolean;
}

export type CredentialKind = 'none' | 'oauth2' | 'xoauth2' | 'apiKey' | 'basic' | 'serviceAccount' | 'githubApp';

const columns = rawSql(`
  connection_id as "connectionId", kind, fields, token, renewable, expires_at as "expiresAt", renew_at as "renewAt",
  version, lock_until as "lockUntil", renewing_since as "renewingSince", cool_down_until as "coolDownUntil",
  failure, denied`);

/** A token as it is stored. */
export interface TokenColumns {
  /** Sealed. */
  token: string;
  renewable: boolean;
  expiresAt: Date | null;
  renewAt: Date | null;
}

export interface CredentialInsert {
  connectionId: string;
  kind: CredentialKind;
  fields: string | null;
  token: TokenColumns | null;
  now: Date;
}

/** Stores the credentials of a connection, in place of those it had. What was wrong with those is forgotten. */
export async function putCredentials(tx: Queryable, row: CredentialInsert): Promise<void> {
  const { token = null, renewable = false, expiresAt = null, renewAt = null } = row.token ?? {};
  await tx.execute(sql`
    insert into credentials (connection_id, kind, fields, token, renewable, expires_at, renew_at, renewed_at,
      created_at, updated_at)
    values (${row.connectionId}, ${row.kind}, ${row.fields}, ${token}, ${renewable}, ${expiresAt}, ${renewAt},
      ${row.now}, ${row.now}, ${row.now})
    on conflict (connection_id) do update set kind = excluded.kind, fields = excluded.fields, token = excluded.token,
      renewable = excluded.renewable, expires_at = excluded.expires_at, renew_at = excluded.renew_at,
      renewed_at = excluded.renewed_at, updated_at = excluded.updated_at, version = credentials.version + 1,
      lock_owner = null, lock_until = null, renewing_since = null, cool_down_until = null, failure = null,
      denied = false`);
  await tx.execute(sql`update connections set expires_at = ${expiresAt} where id = ${row.connectionId}`);
}

export async function findCredentials(database: Queryable, connectionId: string): Promise<CredentialRow | null> {
  const [row] = await database.query<CredentialRow>(
    sql`select ${columns} from credentials where connection_id = ${connectionId}`,
  );
  return row ?? null;
}

/** The state of a row as the caller read it before changing it. */
interface Expected {
  version: number;
  owner: string;
}

/**
 * Takes the right to renew the token of this version. Null when another one has it, or when the
 * token is another one by now. `interrupted`: an earlier renewal of it has no known outcome.
 */
export async function takeRenewal(
  database: Queryable,
  connectionId: string,
  lease: Expected & { until: Date; now: Date },
): Promise<{ interrupted: boolean } | null> {
  const [row] = await database.query<{ interrupted: boolean }>(sql`
    with held as (
      select connection_id, renewing_since from credentials
      where connection_id = ${connectionId} and version = ${lease.version} and not denied
        and (lock_until is null or lock_until < ${lease.now}) and (cool_down_until is null or cool_down_until <= ${lease.now})
      for update)
    update credentials c
    set lock_owner = ${lease.owner}, lock_until = ${lease.until}::timestamptz, renewing_since = ${lease.now}::timestamptz
    from held where c.connection_id = held.connection_id
    returning held.renewing_since is not null as interrupted`);
  return row ?? null;
}

/**
 * Stores a renewed token if that of `version` is still there. False when it is not: somebody else
 * stored one, or the connection is gone. Whoever holds the lock for the old version has lost it.
 */
export async function saveToken(
  tx: Queryable,
  connectionId: string,
  change: TokenColumns & { version: number; now: Date },
): Promise<boolean> {
  const count = await tx.execute(sql`
    update credentials
    set token = ${change.token}, renewable = ${change.renewable}, expires_at = ${change.expiresAt}::timestamptz,
      renew_at = ${change.renewAt}::timestamptz, renewed_at = ${change.now}::timestamptz,
      updated_at = ${change.now}::timestamptz, version = version + 1, lock_owner = null, lock_until = null,
      renewing_since = null, cool_down_until = null, failure = null
    where connection_id = ${connectionId} and version = ${change.version}`);
  if (count === 0) return false;
  await tx.execute(
    sql`update connections set expires_at = ${change.expiresAt}::timestamptz where id = ${connectionId}`,
  );
  return true;
}

export interface RenewalFailure extends Expected {
  message: string;
  coolDownUntil: Date;
  /** The grant is gone. */
  denied: boolean;
  /** The source may have spent the refresh token although no answer came. */
  unclear: boolean;
  now: Date;
}

/** Ends a renewal without a token. False when the lock was lost, so that the failure means nothing. */
export async function failRenewal(
  database: Queryable,
  connectionId: string,
  failure: RenewalFailure,
): Promise<boolean> {
  const count = await database.execute(sql`
    update credentials
    set lock_owner = null, lock_until = null, failure = ${failure.message}, denied = ${failure.denied},
      cool_down_until = ${failure.coolDownUntil}::timestamptz, updated_at = ${failure.now}::timestamptz,
      renewing_since = case when ${failure.unclear} then renewing_since end
    where connection_id = ${connectionId} and version = ${failure.version} and lock_owner = ${failure.owner}`);
  return count === 1;
}

/**
 * Replaces what the user gave. What was made from it or was wrong with it is forgotten; a grant of
 * consent is not made from fields, so it stays. False when there is no row.
 */
export async function setFields(
  tx: Queryable,
  connectionId: string,
  change: { fields: string; now: Date },
): Promise<boolean> {
  const count = await tx.execute(sql`
    update credentials
    set fields = ${change.fields}, updated_at = ${change.now}::timestamptz, version = version + 1,
      token = case when kind in ('serviceAccount', 'githubApp') then null else token end,
      denied = denied and kind in ('oauth2', 'xoauth2'),
      failure = case when kind in ('oauth2', 'xoauth2') then failure end,
      cool_down_until = null
    where connection_id = ${connectionId}`);
  return count === 1;
}

/** The row, which is there no more. */
export async function takeCredentials(database: Queryable, connectionId: string): Promise<CredentialRow | null> {
  const [row] = await database.query<CredentialRow>(
    sql`delete from credentials where connection_id = ${connectionId} returning ${columns}`,
  );
  return row ?? null;
}

/** Connections of users' grants that nobody renewed since, the oldest first. */
export async function idleGrants(
  database: Queryable,
  { renewedBefore, now, limit }: { renewedBefore: Date; now: Date; limit: number },
): Promise<string[]> {
  const rows = await database.query<{ id: string }>(sql`
    select c.connection_id as id from credentials c join connections o on o.id = c.connection_id
    where c.kind in ('oauth2', 'xoauth2') and c.renewable and not c.denied and c.renewed_at < ${renewedBefore}
      and (c.cool_down_until is null or c.cool_down_until <= ${now}) and o.status in ('active', 'paused')
    order by c.renewed_at limit ${limit}`);
  return rows.map((row) => row.id);
}

/** Nothing more is tried with these credentials: only a new authorization helps. */
export async function denyCredentials(
  database: Queryable,
  connectionId: string,
  { reason, now }: { reason: string; now: Date },
): Promise<void> {
  await database.execute(sql`
    update credentials set denied = true, failure = ${reason}, version = version + 1, updated_at = ${now}
    where connection_id = ${connectionId}`);
}

/** Frees renewals whose process is certainly gone: at the start of the only process there is. */
export async function releaseAllRenewals(database: Queryable): Promise<void> {
  await database.execute(sql`update credentials set lock_owner = null, lock_until = null where lock_owner is not null`);
}
