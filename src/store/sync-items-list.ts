import type { Queryable } from './database.ts';
import { isLeftOut } from './scope-reasons.ts';
import { joinSql, rawSql, sql, type Sql } from './sql.ts';

/** Statements about the items of a connection that people look at, all partitions together. */

export interface ListedItemRow {
  partition: string;
  id: string;
  customId: string;
  state: string;
  attempts: number;
  nextRetryAt: Date | null;
  errorClass: string | null;
  error: string | null;
  documentId: string | null;
  ref: Record<string, unknown>;
  updatedAt: Date;
}

/** An item that failed for good stays `failed` in the ledger, without a next try. */
const shownState = rawSql(`case when i.state = 'failed' and i.next_try is null then 'dead' else i.state end`);

const columns = sql`
  i.partition_id as "partition", i.ext_id as "id", i.custom_id as "customId", ${shownState} as "state", i.attempts,
  case when i.state in ('pending', 'failed') then i.next_try end as "nextRetryAt", i.error_class as "errorClass",
  i.error, i.document_id as "documentId", i.ref, i.updated_at as "updatedAt"`;

export interface ItemSelection {
  /** Shown states; empty: all. */
  states: readonly string[];
  /** Empty: all. */
  errorClasses: readonly string[];
}

function selected({ states, errorClasses }: ItemSelection): Sql {
  const conditions = [rawSql(`i.kind = 'document'`)];
  if (states.length > 0) {
    // The first condition is what an index can serve.
    const stored = [...new Set(states.map((state) => (state === 'dead' ? 'failed' : state)))];
    conditions.push(sql`i.state = any(${stored}::text[])`, sql`${shownState} = any(${states}::text[])`);
  }
  if (errorClasses.length > 0) conditions.push(sql`i.error_class = any(${errorClasses}::text[])`);
  return joinSql(conditions, ' and ');
}

/** Where a page ended. */
export interface ItemPlace {
  partition: string;
  id: string;
}

export interface ItemPage {
  limit: number;
  /** Null: from the start. */
  after: ItemPlace | null;
}

function following({ after }: ItemPage): Sql {
  return after === null ? sql`true` : sql`(i.partition_id, i.ext_id) > (${after.partition}, ${after.id})`;
}

/** Ordered as the primary key, so that a page goes on from a place in it. */
export async function listItems(
  database: Queryable,
  connectionId: string,
  selection: ItemSelection,
  page: ItemPage,
): Promise<ListedItemRow[]> {
  return database.query<ListedItemRow>(sql`
    select ${columns} from sync_items i
    where i.connection_id = ${connectionId} and ${selected(selection)} and ${following(page)}
    order by i.partition_id, i.ext_id limit ${page.limit}`);
}

/** What the sweeps that the brake holds would remove. */
export async function listHeldItems(
  database: Queryable,
  connectionId: string,
  page: ItemPage,
): Promise<ListedItemRow[]> {
  return database.query<ListedItemRow>(sql`
    select ${columns} from sync_items i join partitions p on p.connection_id = i.connection_id and p.id = i.partition_id
    where i.connection_id = ${connectionId} and p.held_sweep is not null and p.held_sweep -> 'rejected' is null and i.seen_epoch < p.epoch
      and i.document_id is not null and ${following(page)}
    order by i.partition_id, i.ext_id limit ${page.limit}`);
}

/** Items by their id at the source or their customId; one id can stand in several partitions. */
export async function findItems(database: Queryable, connectionId: string, id: string): Promise<ListedItemRow[]> {
  return database.query<ListedItemRow>(sql`
    select ${columns} from sync_items i
    where i.connection_id = ${connectionId} and i.kind = 'document' and (i.ext_id = ${id} or i.custom_id = ${id})
    order by i.ext_id = ${id} desc, i.partition_id, i.ext_id limit 100`);
}

const fresh = (now: Date) =>
  sql`state = 'pending', next_try = ${now}, attempts = 0, error = null, error_class = null, updated_at = ${now}`;

/** Makes items due now with fresh attempts, except those that the scope leaves out; answers how many. */
export async function redriveSelected(
  database: Queryable,
  connectionId: string,
  selection: ItemSelection,
  now: Date,
): Promise<number> {
  return database.execute(sql`
    update sync_items i set ${fresh(now)}
    where i.connection_id = ${connectionId} and ${selected(selection)} and not ${isLeftOut}`);
}

/** The same for one item, unless it is being read, left out or gone. Answers whether it was done. */
export async function redriveItem(
  database: Queryable,
  connectionId: string,
  place: ItemPlace,
  now: Date,
): Promise<boolean> {
  const count = await database.execute(sql`
    update sync_items i set ${fresh(now)}
    where i.connection_id = ${connectionId} and i.partition_id = ${place.partition} and i.ext_id = ${place.id}
      and i.state not in ('held', 'fetching', 'gone') and not ${isLeftOut}`);
  return count === 1;
}
