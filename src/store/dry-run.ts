import type { PartitionKey } from './partitions.ts';
import type { Reader } from './database.ts';
import { rowSet } from './row-set.ts';
import { sql } from './sql.ts';
import { liesIn } from './sync-items.ts';

/** The effect that a sync would have on a listed item. `same`: none. */
export type Prospect = 'added' | 'updated' | 'same';

/** Compares listed items with the ledger; reads only. */
export async function compareItems(
  database: Reader,
  key: PartitionKey,
  items: readonly { ext_id: string; rev: string }[],
): Promise<Map<string, Prospect>> {
  const set = rowSet('p', { ext_id: 'text', rev: 'text' }, items);
  const rows = await database.query<{ ext_id: string; prospect: Prospect }>(sql`
    select p.ext_id, case
      when i.ext_id is null or (i.document_id is null and i.state in ('pending', 'held', 'fetching', 'failed')) then 'added'
      when i.want_rev = p.rev and (i.state in ('skipped', 'suppressed') or i.state = 'done' and i.rev is null or i.rev = p.rev)
        then 'same'
      when i.document_id is null then 'added' else 'updated' end as prospect
    from ${set.from} left join sync_items i on i.connection_id = ${key.connectionId}
      and i.partition_id = ${key.partitionId} and i.ext_id = p.ext_id`);
  return new Map(rows.map((row) => [row.ext_id, row.prospect]));
}

/** Mirrored items by id, some at a time, without those that lie at the paths of `except`. */
export async function mirroredItems(
  database: Reader,
  key: PartitionKey,
  page: { after: string; limit: number; except: readonly string[] },
): Promise<string[]> {
  const rows = await database.query<{ ext_id: string }>(sql`
    select i.ext_id from sync_items i
    where i.connection_id = ${key.connectionId} and i.partition_id = ${key.partitionId} and i.ext_id > ${page.after}
      and i.document_id is not null and not ${liesIn(page.except)}
    order by i.ext_id limit ${page.limit}`);
  return rows.map((row) => row.ext_id);
}
