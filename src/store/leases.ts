import { randomUUID } from 'node:crypto';
import { MemorydError } from '../base/errors.ts';
import type { Database, Queryable, Transaction } from './database.ts';
import { rawSql, sql } from './sql.ts';

/**
 * A process that was stopped for a while, or whose link to the database stalled, does not know that
 * its lease has ended and that another one works by now. So nothing is written because a lease was
 * taken some time ago: every transaction that a lease permits locks the lease's row and compares the
 * token before it writes. Until it ends, nobody can take the lease over.
 */

/** A role that this process holds, with the token of this holding. */
export interface HeldLease {
  readonly name: string;
  readonly token: string;
}

/**
 * Takes or keeps a role that only one process may hold, until `until`. Null while another holder's
 * lease has not ended. The token stays the same for as long as nobody else had the role in between.
 */
export async function holdLease(
  database: Queryable,
  name: string,
  lease: { holder: string; until: Date; now: Date },
): Promise<HeldLease | null> {
  const [row] = await database.query<{ token: string }>(sql`
    insert into leases (name, holder, token, lease_until)
    values (${name}, ${lease.holder}, ${randomUUID()}, ${lease.until})
    on conflict (name) do update set holder = excluded.holder, lease_until = excluded.lease_until,
      token = case when leases.holder = excluded.holder then leases.token else excluded.token end
    where leases.holder = excluded.holder or leases.lease_until < ${lease.now}
    returning token`);
  return row ? { name, token: row.token } : null;
}

/** Whether anybody has the role. */
export async function isLeaseHeld(database: Queryable, name: string, now: Date): Promise<boolean> {
  const rows = await database.query(sql`select 1 from leases where name = ${name} and lease_until >= ${now}`);
  return rows.length > 0;
}

export async function releaseLease(database: Queryable, name: string, holder: string): Promise<void> {
  await database.execute(sql`delete from leases where name = ${name} and holder = ${holder}`);
}

/** Throws `lease_lost` unless the role is still held under this token; it cannot be lost before the transaction ends. */
async function assertHeld(tx: Transaction, lease: HeldLease): Promise<void> {
  const rows = await tx.query(sql`
    select 1 from leases where name = ${lease.name} and token = ${lease.token} for share`);
  if (rows.length === 0) throw leaseLost();
}

/** Runs a transaction that only the holder of a role may run. Throws `lease_lost` when that is another one by now. */
export function whileHeld<T>(database: Database, lease: HeldLease, work: (tx: Transaction) => Promise<T>): Promise<T> {
  return database.transaction(async (tx) => {
    await assertHeld(tx, lease);
    return work(tx);
  });
}

/** Every lease ends: at the start of the only process there is, whose predecessor may have been killed. */
export async function clearLeases(database: Queryable): Promise<void> {
  await database.execute(sql`delete from leases`);
}

/** A connection that one sync run has, with the token of its holder. */
export interface ConnectionLease {
  readonly connectionId: string;
  readonly token: string;
}

/**
 * The same for the run that has a connection. `alone`: no other transaction of the run goes on beside this one;
 * it must be said at the beginning, because two of them could not both ask for it later.
 */
export async function assertConnectionHeld(
  tx: Transaction,
  lease: ConnectionLease,
  strength: 'beside others' | 'alone',
): Promise<void> {
  const lock = rawSql(strength === 'alone' ? 'for update' : 'for share');
  const rows = await tx.query(sql`
    select 1 from connections where id = ${lease.connectionId} and lease_token = ${lease.token} ${lock}`);
  if (rows.length === 0) throw leaseLost();
}

function leaseLost(): MemorydError {
  return new MemorydError('lease_lost', 'Another worker has taken the work over.', { shouldRetry: false });
}

export function isLeaseLost(error: unknown): boolean {
  return MemorydError.is(error) && error.code === 'lease_lost';
}
