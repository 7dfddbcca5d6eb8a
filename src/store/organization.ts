import { firstOf } from '../base/collections.ts';
import type { Queryable, Transaction } from './database.ts';
import { sql } from './sql.ts';

export interface OrganizationRow {
  id: string;
  slug: string;
  name: string;
}

/** Stores the organization when there is none, and returns the one that stands. */
export async function ensureOrganizationRow(
  database: Queryable,
  organization: OrganizationRow,
  now: Date,
): Promise<OrganizationRow> {
  await database.execute(sql`
    insert into settings (key, value, updated_at)
    values ('organization', ${JSON.stringify(organization)}::jsonb, ${now})
    on conflict (key) do nothing`);
  const rows = await database.query<{ value: OrganizationRow }>(
    sql`select value from settings where key = 'organization'`,
  );
  return firstOf(rows).value;
}

/** One after the other: whoever changes what belongs to the whole organization holds its row. */
export async function lockOrganization(tx: Transaction): Promise<void> {
  await tx.query(sql`select key from settings where key = 'organization' for update`);
}
