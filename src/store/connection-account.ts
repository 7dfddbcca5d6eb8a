import type { Queryable } from './database.ts';
import { sql } from './sql.ts';

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
