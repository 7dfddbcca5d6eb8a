import type { PartitionKey } from './partitions.ts';
import type { Queryable, Reader } from './database.ts';
import { rowSet, type Columns } from './row-set.ts';
import { sql } from './sql.ts';

/** Content that a listing brought along, kept with the item until it is done. */
export interface ItemDocumentWrite {
  ext_id: string;
  rev: string;
  /** A fetched document as JSON. */
  document: string;
}

const columns: Columns<ItemDocumentWrite> = { ext_id: 'text', rev: 'text', document: 'text' };

const ofPartition = (key: PartitionKey) =>
  sql`connection_id = ${key.connectionId} and partition_id = ${key.partitionId}`;

/** The revision of each item that the ledger knows already, by id. */
export async function knownRevisions(
  database: Reader,
  key: PartitionKey,
  ids: readonly string[],
): Promise<Map<string, string>> {
  const rows = await database.query<{ ext_id: string; want_rev: string }>(sql`
    select ext_id, want_rev from sync_items
    where ${ofPartition(key)} and ext_id = any(${ids}::text[]) and state <> 'gone'`);
  return new Map(rows.map((row) => [row.ext_id, row.want_rev]));
}

export async function writeItemDocuments(
  database: Queryable,
  key: PartitionKey,
  documents: readonly ItemDocumentWrite[],
): Promise<void> {
  const set = rowSet('r', columns, documents);
  await database.execute(sql`
    insert into sync_item_documents (connection_id, partition_id, ${set.names})
    select ${key.connectionId}, ${key.partitionId}, ${set.select} from ${set.from}
    on conflict (connection_id, partition_id, ext_id) do update set rev = excluded.rev, document = excluded.document`);
}

/** The kept content of some items. */
export async function readItemDocuments(
  database: Reader,
  key: PartitionKey,
  ids: readonly string[],
): Promise<ItemDocumentWrite[]> {
  return database.query<ItemDocumentWrite>(sql`
    select ext_id, rev, document from sync_item_documents
    where ${ofPartition(key)} and ext_id = any(${ids}::text[])`);
}

export async function dropItemDocuments(tx: Queryable, key: PartitionKey, ids: readonly string[]): Promise<void> {
  await tx.execute(sql`
    delete from sync_item_documents where ${ofPartition(key)} and ext_id = any(${ids}::text[])`);
}

/** Removes content of items that are not there, or that show another revision by now. */
export async function dropStrayDocuments(database: Queryable, key: PartitionKey): Promise<void> {
  await database.execute(sql`
    delete from sync_item_documents d
    where d.connection_id = ${key.connectionId} and d.partition_id = ${key.partitionId} and not exists (
      select 1 from sync_items i
      where i.connection_id = d.connection_id and i.partition_id = d.partition_id and i.ext_id = d.ext_id
        and i.want_rev = d.rev and i.state in ('pending', 'held', 'fetching', 'failed', 'skipped'))`);
}
