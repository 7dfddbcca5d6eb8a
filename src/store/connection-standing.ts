import type { Queryable } from './database.ts';
import type { HeldSweep } from './partitions.ts';
import { sql } from './sql.ts';

/** Items that could not be mirrored, and those whose document could not be processed; connections without any are left out. */
export async function countFailures(
  database: Queryable,
  connectionIds: readonly string[],
): Promise<{ connectionId: string; failed: number }[]> {
  const ids = sql`any(${connectionIds}::text[])`;
  return database.query(sql`
    select connection_id as "connectionId", count(*) as failed from (
      select connection_id from sync_items where state = 'failed' and kind = 'document' and connection_id = ${ids}
      union all
      select i.connection_id from documents d join sync_items i on i.document_id = d.id
      where d.status = 'failed' and d.deleted_at is null and d.connection_id = ${ids}
        and i.connection_id = d.connection_id and i.state = 'done' and i.kind = 'document') of_these
    group by connection_id`);
}

/** Those whose deletions the brake has held, confirmed ones too. */
export async function heldSweepsOf(
  database: Queryable,
  connectionIds: readonly string[],
): Promise<{ connectionId: string; heldSweep: HeldSweep }[]> {
  return database.query(sql`
    select connection_id as "connectionId", held_sweep as "heldSweep" from partitions
    where held_sweep is not null and connection_id = any(${connectionIds}::text[])`);
}
