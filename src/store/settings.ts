import type { Queryable, Reader, Transaction } from './database.ts';
import { sql } from './sql.ts';

/** The key of the organization's `ContentSettings`. */
export const contentSettingsKey = 'settings';

/** The key of the organization's row. */
export const organizationKey = 'organization';

/** A value that belongs to the whole installation, by name. */
export async function readSetting<Value>(database: Reader, key: string): Promise<Value | null> {
  const [row] = await database.query<{ value: Value }>(sql`select value from settings where key = ${key}`);
  return row?.value ?? null;
}

export async function writeSetting(database: Queryable, key: string, value: unknown, now: Date): Promise<void> {
  await database.execute(sql`
    insert into settings (key, value, updated_at) values (${key}, ${JSON.stringify(value)}::jsonb, ${now})
    on conflict (key) do update set value = excluded.value, updated_at = excluded.updated_at`);
}

/** Stores a value unless there is one; answers the one that stands. */
export async function ensureSetting<Value>(database: Queryable, key: string, value: Value, now: Date): Promise<Value> {
  await database.execute(sql`
    insert into settings (key, value, updated_at) values (${key}, ${JSON.stringify(value)}::jsonb, ${now})
    on conflict (key) do nothing`);
  return (await readSetting<Value>(database, key)) ?? value;
}

/** Answers whether there was one. */
export async function deleteSetting(database: Queryable, key: string): Promise<boolean> {
  return (await database.execute(sql`delete from settings where key = ${key}`)) === 1;
}

/** One after the other: whoever changes what belongs to the whole organization holds its row. */
export async function lockOrganization(tx: Transaction): Promise<void> {
  await tx.query(sql`select key from settings where key = ${organizationKey} for update`);
}
