import type { Queryable, Transaction } from './database.ts';
import { rowSet, rawSql, sql } from './sql.ts';

export interface HookRegistrationRow {
  connectionId: string;
  /** Sealed. */
  secret: string;
  target: string | null;
  failures: number;
  problem: string | null;
  nextTry: Date;
}

export interface HookSubscriptionRow {
  id: string;
  expiresAt: Date | null;
  state: Record<string, unknown> | null;
  createdAt: Date;
}

const registrationColumns = rawSql(`
  connection_id as "connectionId", secret, target, failures, problem, next_try as "nextTry"`);

/** False when this request is known already. */
export async function recordDelivery(
  tx: Queryable,
  delivery: { scope: string; deliveryId: string; now: Date },
): Promise<boolean> {
  const count = await tx.execute(sql`
    insert into hook_deliveries (scope, delivery_id, received_at)
    values (${delivery.scope}, ${delivery.deliveryId}, ${delivery.now}) on conflict do nothing`);
  return count === 1;
}

/** Connections of an account, as the provider names it; in the order in which they are locked. */
export async function connectionsOfAccount(database: Queryable, provider: string, account: string): Promise<string[]> {
  const rows = await database.query<{ id: string }>(sql`
    select id from connections where provider = ${provider} and account_id = ${account} and status <> 'deleting' order by id`);
  return rows.map((row) => row.id);
}

/** Connections that have one of these partitions; in the order in which they are locked. */
export async function connectionsOfPartitions(
  database: Queryable,
  provider: string,
  partitions: readonly string[],
): Promise<string[]> {
  const rows = await database.query<{ id: string }>(sql`
    select id from connections c where provider = ${provider} and status <> 'deleting' and exists (
      select from partitions p where p.connection_id = c.id and p.id = any(${partitions}::text[]))
    order by id`);
  return rows.map((row) => row.id);
}

export async function findRegistration(database: Queryable, connectionId: string): Promise<HookRegistrationRow | null> {
  const [row] = await database.query<HookRegistrationRow>(
    sql`select ${registrationColumns} from hook_registrations where connection_id = ${connectionId}`,
  );
  return row ?? null;
}

/** Makes the registration unless there is one; answers the one that is there then. */
export async function ensureRegistration(
  database: Queryable,
  row: { connectionId: string; secret: string; now: Date },
): Promise<HookRegistrationRow> {
  await database.execute(sql`
    insert into hook_registrations (connection_id, secret, next_try, created_at, updated_at)
    values (${row.connectionId}, ${row.secret}, ${row.now}, ${row.now}, ${row.now}) on conflict do nothing`);
  return (await findRegistration(database, row.connectionId))!;
}

export interface RegistrationChange {
  target: string | null;
  failures: number;
  problem: string | null;
  nextTry: Date;
  now: Date;
}

export async function updateRegistration(
  database: Queryable,
  connectionId: string,
  change: RegistrationChange,
): Promise<void> {
  await database.execute(sql`
    update hook_registrations set target = ${change.target}, failures = ${change.failures}, problem = ${change.problem},
      next_try = ${change.nextTry}, updated_at = ${change.now}
    where connection_id = ${connectionId}`);
}

export async function listSubscriptions(database: Queryable, connectionId: string): Promise<HookSubscriptionRow[]> {
  return database.query<HookSubscriptionRow>(sql`
    select id, expires_at as "expiresAt", state, created_at as "createdAt" from hook_subscriptions
    where connection_id = ${connectionId} order by id`);
}

/** Stores subscriptions, in place of those with the same ids. */
export async function putSubscriptions(
  tx: Transaction,
  connectionId: string,
  subscriptions: readonly { id: string; expiresAt: Date | null; state: object | null }[],
  now: Date,
): Promise<void> {
  if (subscriptions.length === 0) return;
  const rows = subscriptions.map(({ id, expiresAt, state }) => ({ id, expires_at: expiresAt, state }));
  const set = rowSet('r', { id: 'text', expires_at: 'timestamptz', state: 'jsonb' }, rows);
  await tx.execute(sql`
    insert into hook_subscriptions (connection_id, ${set.names}, created_at)
    select ${connectionId}, ${set.select}, ${now}::timestamptz from ${set.from}
    on conflict (connection_id, id) do update set expires_at = excluded.expires_at, state = excluded.state,
      created_at = excluded.created_at`);
}

export async function deleteSubscriptions(
  database: Queryable,
  connectionId: string,
  ids: readonly string[],
): Promise<void> {
  await database.execute(sql`
    delete from hook_subscriptions where connection_id = ${connectionId} and id = any(${ids}::text[])`);
}

/** Active connections of these providers whose registration is missing or due. */
export async function connectionsWithHooksDue(
  database: Queryable,
  providers: readonly string[],
  options: { now: Date; limit: number },
): Promise<string[]> {
  const rows = await database.query<{ id: string }>(sql`
    select c.id from connections c left join hook_registrations r on r.connection_id = c.id
    where c.status = 'active' and c.provider = any(${providers}::text[])
      and (r.connection_id is null or r.next_try <= ${options.now})
    order by r.next_try nulls first limit ${options.limit}`);
  return rows.map((row) => row.id);
}

/** Makes the registrations of these connections due, e.g. because their selection changed. */
export async function touchRegistration(database: Queryable, connectionId: string, now: Date): Promise<void> {
  await database.execute(sql`
    update hook_registrations set next_try = ${now}, updated_at = ${now} where connection_id = ${connectionId}`);
}

/** Forgets requests of sources and pushes that are too old to come again. */
export async function deleteOldDeliveries(database: Queryable, receivedBefore: Date): Promise<number> {
  const hooks = await database.execute(sql`delete from hook_deliveries where received_at < ${receivedBefore}`);
  return hooks + (await database.execute(sql`delete from push_deliveries where received_at < ${receivedBefore}`));
}
