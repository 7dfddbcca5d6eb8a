import type { Queryable } from './database.ts';
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
  return rows[0]!.value;
}
