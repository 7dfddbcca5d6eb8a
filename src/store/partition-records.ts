import type { PartitionKey } from './partitions.ts';
import type { Reader, Transaction } from './database.ts';
import { rowSet } from './row-set.ts';
import { sql } from './sql.ts';

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

const ofPartition = (key: PartitionKey) =>
  sql`connection_id = ${key.connectionId} and partition_id = ${key.partitionId}`;

/** A connector's records of a partition whose names begin with `prefix`. */
export async function readRecords(database: Reader, key: PartitionKey, prefix: string): Promise<Record<string, Json>> {
  const rows = await database.query<{ name: string; value: Json }>(sql`
    select name, value from partition_records where ${ofPartition(key)} and starts_with(name, ${prefix}) order by name`);
  return Object.fromEntries(rows.map(({ name, value }) => [name, value]));
}

/** Writes some records, and removes those that are null. */
export async function writeRecords(
  tx: Transaction,
  key: PartitionKey,
  records: Readonly<Record<string, Json | null>>,
): Promise<void> {
  const entries = Object.entries(records);
  const removed = entries.flatMap(([name, value]) => (value === null ? [name] : []));
  const kept = entries.flatMap(([name, value]) => (value === null ? [] : [{ name, value }]));
  if (removed.length > 0) {
    await tx.execute(sql`
      delete from partition_records where ${ofPartition(key)} and name = any(${removed}::text[])`);
  }
  if (kept.length === 0) return;
  const set = rowSet('r', { name: 'text', value: 'jsonb' }, kept);
  await tx.execute(sql`
    insert into partition_records (connection_id, partition_id, ${set.names})
    select ${key.connectionId}, ${key.partitionId}, ${set.select} from ${set.from}
    on conflict (connection_id, partition_id, name) do update set value = excluded.value`);
}
