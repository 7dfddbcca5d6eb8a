import { ofPartition, type PartitionKey, itemsOf } from './partitions.ts';
import type { Queryable, Reader, Transaction } from './database.ts';
import { rowSet, type Columns, sql, rawSql, type Sql } from './sql.ts';

/** Statements that bring what a listing shows into the ledger. */

/** One listed item, as the ledger stores it. */
export interface ItemWrite {
  extId: string;
  customId: string;
  kind: string;
  wantRev: string;
  fingerprint: string | null;
  parent: string | null;
  ref: Record<string, unknown>;
  /** When it last changed at its source, where the source tells. */
  sourceUpdatedAt: Date | null;
  /** Why it is not mirrored as far as it is known by now (a `LeftOutReason`), and in words. */
  skip: string | null;
  skipDetail: string | null;
}

const itemColumns: Columns<ItemWrite> = {
  extId: 'text',
  customId: 'text',
  kind: 'text',
  wantRev: 'text',
  fingerprint: 'text',
  parent: 'text',
  ref: 'jsonb',
  sourceUpdatedAt: 'timestamptz',
  skip: 'text',
  skipDetail: 'text',
};

export interface PageCounts {
  added: number;
  changed: number;
  unchanged: number;
}

/** One page of a listing: enough of each item to detect changes, and changed items whole. */
export interface ListedPage {
  /** One per id. */
  items: readonly { extId: string; wantRev: string }[];
  write(ids: ReadonlySet<string>): ItemWrite[];
}

export interface PageOptions {
  epoch: number;
  now: Date;
  /** An update of the partition, stored with the rows of the page. It ends in a `where` condition. */
  checkpoint: Sql;
}

/**
 * One page of a listing with its checkpoint. What is unchanged costs one statement that moves it to
 * this epoch and touches nothing else of it; only the rest, if there is any, is sent whole.
 */
export async function recordPage(
  database: Queryable,
  key: PartitionKey,
  page: ListedPage,
  options: PageOptions,
): Promise<PageCounts> {
  const rest = await markSeen(database, key, page.items, options);
  const unchanged = page.items.length - rest.size;
  if (rest.size === 0) return { added: 0, changed: 0, unchanged };
  const added = await writeItems(database, key, page.write(rest), options);
  return { added, changed: rest.size - added, unchanged };
}

/** On a missing item `i`: its document has what the source shows, so that it only has to show again. */
const isMirroredYet = rawSql(`(i.missing_since is not null and i.document_id is not null and i.rev = i.want_rev)`);

/** On an item `i` that shows as before: it was read in another revision, and taken back since, or the listing is late. */
const isReadOtherwise = rawSql(`(i.state = 'done' and coalesce(i.rev, i.want_rev) <> i.want_rev)`);

/**
 * The ids of those items of a page that are not in the ledger just as it shows them. Writes nothing. Each is looked up
 * for itself: a join that is planned before there are statistics compares every item with every other.
 */
export async function unlikeLedger(
  database: Reader,
  key: PartitionKey,
  items: ListedPage['items'],
): Promise<Set<string>> {
  const page = rowSet('p', { extId: 'text', wantRev: 'text' }, items);
  const rows = await database.query<{ id: string }>(sql`
    select p.ext_id as id from ${page.from}
    left join lateral (
      select i.want_rev = p.want_rev and i.state <> 'gone' and i.missing_since is null and not ${isReadOtherwise} as alike
      from sync_items i where ${itemsOf(key)} and i.ext_id = p.ext_id limit 1
    ) stored on true
    where stored.alike is not true`);
  return new Set(rows.map(({ id }) => id));
}

/** Moves items to the epoch of a listing that showed them, or for which the source was asked about them. */
export async function moveToEpoch(
  tx: Transaction,
  key: PartitionKey,
  ids: readonly string[],
  epoch: number,
): Promise<void> {
  await tx.execute(sql`
    update sync_items i set seen_epoch = greatest(i.seen_epoch, ${epoch})
    where ${itemsOf(key)} and i.ext_id = any(${ids}::text[])`);
}

/** Moves unchanged items to this epoch; answers the ids of the others. Stores the checkpoint when there are none. */
async function markSeen(
  database: Queryable,
  key: PartitionKey,
  items: ListedPage['items'],
  { epoch, checkpoint }: PageOptions,
): Promise<Set<string>> {
  const page = rowSet('p', { extId: 'text', wantRev: 'text' }, items);
  const ids = items.map((item) => item.extId);
  const rows = await database.query<{ id: string }>(sql`
    with page as materialized (select ${page.select} from ${page.from}),
    seen as (
      update sync_items i set seen_epoch = greatest(i.seen_epoch, ${epoch}), missing_since = null,
        state = case when i.state = 'gone' then 'done' else i.state end
      from page p
      where ${itemsOf(key)} and i.ext_id = any(${ids}::text[]) and i.ext_id = p.ext_id
        and i.want_rev = p.want_rev and (i.state <> 'gone' or ${isMirroredYet}) and not ${isReadOtherwise}
      returning i.ext_id
    ),
    rest as materialized (select p.ext_id from page p where not exists (select 1 from seen where seen.ext_id = p.ext_id)),
    checkpoint as (${checkpoint} and not exists (select 1 from rest) returning 1)
    select ext_id as id from rest`);
  return new Set(rows.map(({ id }) => id));
}

/**
 * Writes changed items as pending and adds new ones, with the checkpoint; answers how many no listing has shown before.
 * A new item with the fingerprint of another id is held until the listing shows whether that is gone (a rename) or not
 * (a copy). What the filters leave out is skipped; what waits for its place or a free slot keeps a document that it has.
 */
async function writeItems(
  database: Queryable,
  key: PartitionKey,
  items: readonly ItemWrite[],
  { epoch, now, checkpoint }: PageOptions,
): Promise<number> {
  const page = rowSet('p', itemColumns, items);
  const ids = items.map((item) => item.extId);
  const leftOut = rawSql(`(p.skip = 'filtered' or (p.skip is not null and i.document_id is null))`);
  const [counts] = await database.query<{ added: number }>(sql`
    with page as materialized (select ${page.select} from ${page.from}),
    unlisted as materialized (
      select 1 from sync_items i where ${itemsOf(key)} and i.ext_id = any(${ids}::text[]) and i.want_rev = ''
    ),
    known as (
      update sync_items i set
        seen_epoch = greatest(i.seen_epoch, ${epoch}), want_rev = p.want_rev, custom_id = p.custom_id, fingerprint = p.fingerprint,
        parent = p.parent, ref = p.ref, source_updated_at = p.source_updated_at,
        state = case when p.kind = 'container' then 'done' when ${leftOut} then 'skipped' else 'pending' end,
        error_class = case when ${leftOut} then p.skip end, error = case when ${leftOut} then p.skip_detail end,
        next_try = ${now}::timestamptz, attempts = 0, lost_workers = 0, lease_token = null, missing_since = null,
        updated_at = ${now}::timestamptz
      from page p
      where ${itemsOf(key)} and i.ext_id = any(${ids}::text[]) and i.ext_id = p.ext_id
      returning i.ext_id
    ),
    added as (
      insert into sync_items (connection_id, partition_id, ext_id, custom_id, kind, want_rev, fingerprint, parent, ref,
        source_updated_at, error_class, error, state, next_try, seen_epoch, created_at, updated_at)
      select ${key.connectionId}, ${key.partitionId}, p.ext_id, p.custom_id, p.kind, p.want_rev, p.fingerprint, p.parent,
        p.ref, p.source_updated_at, p.skip, p.skip_detail,
        case when p.kind = 'container' then 'done' when p.skip = 'filtered' then 'skipped'
          when p.fingerprint is not null and exists (
            select 1 from sync_items i
            where ${itemsOf(key)} and i.fingerprint = p.fingerprint and i.document_id is not null)
          then 'held' when p.skip is not null then 'skipped' else 'pending' end,
        ${now}::timestamptz, ${epoch}, ${now}::timestamptz, ${now}::timestamptz
      from page p
      where not exists (select 1 from known k where k.ext_id = p.ext_id)
      on conflict do nothing
      returning 1
    ),
    checkpoint as (${checkpoint} returning 1)
    select (select count(*) from added) + (select count(*) from unlisted) as added, (select count(*) from checkpoint) as checkpoints`);
  return counts?.added ?? 0;
}

/** Content that a listing brought along, kept with the item until it is done. */
export interface ItemDocumentWrite {
  extId: string;
  rev: string;
  /** A fetched document as JSON. */
  document: string;
}

const columns: Columns<ItemDocumentWrite> = { extId: 'text', rev: 'text', document: 'text' };

/** The revision of each item that the ledger knows already, by id. */
export async function knownRevisions(
  database: Reader,
  key: PartitionKey,
  ids: readonly string[],
): Promise<Map<string, string>> {
  const rows = await database.query<{ id: string; rev: string }>(sql`
    select ext_id as id, want_rev as rev from sync_items
    where ${ofPartition(key)} and ext_id = any(${ids}::text[]) and state <> 'gone'`);
  return new Map(rows.map(({ id, rev }) => [id, rev]));
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
    select ext_id as "extId", rev, document from sync_item_documents
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
