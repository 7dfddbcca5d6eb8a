import type { Queryable } from './database.ts';
import { sql } from './sql.ts';

/**
 * Takes or keeps a role that only one process may hold. True when `holder` has it until `until`;
 * false when another holder's lease has not ended yet.
 */
export async function holdLease(
  database: Queryable,
  name: string,
  lease: { holder: string; until: Date; now: Date },
): Promise<boolean> {
  const count = await database.execute(sql`
    insert into leases (name, holder, lease_until) values (${name}, ${lease.holder}, ${lease.until})
    on conflict (name) do update set holder = excluded.holder, lease_until = excluded.lease_until
    where leases.holder = excluded.holder or leases.lease_until < ${lease.now}`);
  return count === 1;
}

export async function releaseLease(database: Queryable, name: string, holder: string): Promise<void> {
  await database.execute(sql`delete from leases where name = ${name} and holder = ${holder}`);
}

/** Every lease ends: at the start of the only process there is, whose predecessor may have been killed. */
export async function clearLeases(database: Queryable): Promise<void> {
  await database.execute(sql`delete from leases`);
}
