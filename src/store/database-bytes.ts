import type { Queryable } from './database.ts';
import { rawSql } from './sql.ts';

/** The database's size on disk in bytes, without its log; null where its user may not read that. */
export async function databaseBytes(database: Queryable): Promise<number | null> {
  const [row] = await database.query<{ bytes: number | null }>(
    rawSql(`select case when has_database_privilege(current_database(), 'connect')
      then pg_database_size(current_database())::bigint end as bytes`),
  );
  return row?.bytes ?? null;
}
