import { itemsOf, isPartition, type PartitionKey } from './partitions.ts';
import type { Queryable, Reader, Transaction } from './database.ts';
import { rowSet, rawSql, sql, type Sql } from './sql.ts';
import { liesIn } from './sync-items.ts';

/** Statements about listings that may leave items out: what they are repeated by, and what they left out. */

/** Counts new items, with the page that shows them. */
export async function noteNews(tx: Transaction, key: PartitionKey, count: number): Promise<void> {
  await tx.execute(sql`
    update partitions set listing_news = listing_news + ${count} where ${isPartition(key)} and listing_pass is not null`);
}

/** Begins the next listing of the same epoch. */
export async function startPass(tx: Transaction, key: PartitionKey, now: Date): Promise<void> {
  await tx.execute(sql`
    update partitions
    set listing_pass = listing_pass + 1, listing_quiet = case when listing_news = 0 then listing_quiet + 1 else 0 end,
      listing_news = 0, listing_cursor = null, listing_shown = false, updated_at = ${now}
    where ${isPartition(key)}`);
}

export interface LeftOut {
  /** The epoch of the listing. */
  epoch: number;
  /** Paths that the listing could not see. */
  except: readonly string[];
}

const isLeftOut = ({ epoch, except }: LeftOut): Sql =>
  sql`i.seen_epoch < ${epoch} and not ${except.length === 0 ? rawSql('false') : liesIn(except)}`;

/** Ids at the source that a listing left out: first those that are missing already, then those seen longest ago. */
export async function leftOutItems(
  database: Reader,
  key: PartitionKey,
  which: LeftOut & { limit: number },
): Promise<{ key: string; id: string }[]> {
  return database.query(sql`
    select i.ext_id as key, coalesce(i.ref ->> 'sourceId', i.ext_id) as id from sync_items i
    where ${itemsOf(key)} and ${isLeftOut(which)}
    order by (i.state = 'gone') desc, i.seen_epoch, i.ext_id limit ${which.limit}`);
}

/** How many items the source was not asked about yet, and how many of them are missing since an earlier look. */
export async function countLeftOut(
  database: Reader,
  key: PartitionKey,
  which: LeftOut,
): Promise<{ all: number; missing: number }> {
  const [row] = await database.query<{ all: number; missing: number }>(sql`
    select count(*) as all, count(*) filter (where i.state = 'gone') as missing from sync_items i
    where ${itemsOf(key)} and ${isLeftOut(which)}`);
  return row ?? { all: 0, missing: 0 };
}

/** Forgets folders that are gone, when everything that was in them has been looked for. */
export async function forgetGoneContainers(tx: Transaction, key: PartitionKey): Promise<void> {
  await tx.execute(sql`
    delete from sync_items i where ${itemsOf(key)} and i.kind = 'container' and i.state = 'gone'`);
}

/**
 * Marks what is in folders that are gone, however deep, as to be asked about, once for each of these folders: their
 * source may say nothing of what was in them. Answers how many items that are.
 */
export async function doubtContents(tx: Transaction, key: PartitionKey, epoch: number): Promise<number> {
  const [row] = await tx.query<{ count: number }>(sql`
    with recursive fresh as (
      update sync_items i set error_class = 'doubted'
      where ${itemsOf(key)} and i.state = 'gone' and i.kind = 'container' and i.error_class is distinct from 'doubted'
      returning i.ext_id
    ),
    gone(ext_id) as (
      select ext_id from fresh
      union
      select i.ext_id from gone join sync_items i on i.parent = gone.ext_id
      where ${itemsOf(key)} and i.kind = 'container'
    ),
    doubted as (
      update sync_items i set seen_epoch = ${epoch - 1}
      where ${itemsOf(key)} and i.parent in (select ext_id from gone) and i.state <> 'gone' and i.seen_epoch >= ${epoch}
        and i.ext_id not in (select ext_id from fresh)
      returning 1
    )
    select count(*) as count from doubted`);
  const count = row?.count ?? 0;
  if (count > 0) {
    await tx.execute(sql`update partitions set unconfirmed = unconfirmed + ${count} where ${isPartition(key)}`);
  }
  return count;
}

/**
 * Adds items that content has shown and no listing yet, without a rev, so that the source is asked about them.
 * Answers how many were not known.
 */
export async function addUnlisted(
  tx: Transaction,
  key: PartitionKey,
  items: readonly { extId: string; customId: string }[],
  now: Date,
): Promise<number> {
  const set = rowSet('r', { extId: 'text', customId: 'text' }, items);
  return tx.execute(sql`
    insert into sync_items (connection_id, partition_id, ${set.names}, want_rev, state, error_class, error, seen_epoch,
      created_at, updated_at)
    select ${key.connectionId}, ${key.partitionId}, ${set.select}, '', 'skipped', 'unlisted',
      'Another item shows it, and no listing yet. The source is asked about it.', 0, ${now}::timestamptz, ${now}::timestamptz
    from ${set.from} on conflict do nothing`);
}

export async function setUnconfirmed(database: Queryable, key: PartitionKey, count: number): Promise<void> {
  await database.execute(sql`update partitions set unconfirmed = ${count} where ${isPartition(key)}`);
}
