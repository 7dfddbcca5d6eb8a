import { containsText, joinSql, rawSql, sql, type Sql } from './sql.ts';
import type { Queryable, Transaction } from './database.ts';
import { isLeftOut } from './sync-items.ts';

/** Statements about the items of a connection that people look at, all partitions together. */

export interface ListedItemRow {
  partition: string;
  /** Its id at the source. */
  id: string;
  /** Of its document. */
  customId: string;
  state: string;
  attempts: number;
  /** Null: when it changes at the source, or on request. */
  nextRetryAt: Date | null;
  errorClass: string | null;
  /** Why it failed or was skipped. */
  error: string | null;
  documentId: string | null;
  title: string | null;
  ref: Record<string, unknown>;
  updatedAt: Date;
}

/** A source that lists no titles, such as a mailbox, has shown them since by what was read. */
const title = rawSql(
  `coalesce(i.ref ->> 'title', (select named.title from documents named where named.id = i.document_id))`,
);

/** An item whose document could not be processed has failed with it, for the reason of the document. */
const itemsWithFailure = rawSql(`sync_items i
    left join documents d on d.id = i.document_id and i.state = 'done' and d.status = 'failed' and d.deleted_at is null`);

/** An item that failed for good stays `failed` in the ledger, without a next try. */
const itemState = rawSql(`case when i.state = 'failed' and i.next_try is null then 'dead' else i.state end`);
const documentState = rawSql(`case when d.next_attempt_at is null then 'dead' else 'failed' end`);
const shownState = sql`case when d.id is not null then ${documentState} else ${itemState} end`;

const columns = sql`
  i.partition_id as "partition", i.ext_id as "id", i.custom_id as "customId", ${shownState} as "state", i.attempts,
  case when d.id is not null then d.next_attempt_at when i.state in ('pending', 'failed') then i.next_try
    end as "nextRetryAt",
  coalesce(d.error_code, i.error_class) as "errorClass", coalesce(d.error_message, i.error) as "error",
  i.document_id as "documentId", ${title} as "title", i.ref, i.updated_at as "updatedAt"`;

export interface ItemSelection {
  /** Shown states; empty: all. */
  states: readonly string[];
  /** Empty: all. */
  errorClasses: readonly string[];
  /** In title, path or id. */
  text?: string | undefined;
}

const names = [rawSql(`i.ref ->> 'path'`), rawSql('i.ext_id'), title];

function selected({ states, errorClasses, text }: ItemSelection): Sql {
  const conditions = [rawSql(`i.kind = 'document'`)];
  if (states.length > 0) {
    // The first condition is what an index can serve.
    conditions.push(sql`i.state = any(${storedStates(states)}::text[])`, sql`${shownState} = any(${states}::text[])`);
  }
  if (errorClasses.length > 0) {
    conditions.push(sql`coalesce(d.error_code, i.error_class) = any(${errorClasses}::text[])`);
  }
  if (text !== undefined) conditions.push(containsText(names, text));
  return joinSql(conditions, ' and ');
}

function storedStates(states: readonly string[]): string[] {
  return [...new Set(states.flatMap((state) => (['failed', 'dead'].includes(state) ? ['failed', 'done'] : [state])))];
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
    select ${columns} from ${itemsWithFailure}
    where i.connection_id = ${connectionId} and ${selected(selection)} and ${following(page)}
    order by i.partition_id, i.ext_id limit ${page.limit}`);
}

export interface FailureCauseRow {
  state: string;
  errorClass: string | null;
  count: number;
  /** Of the one that failed last. */
  error: string | null;
  lastAt: Date;
  /** The earliest; null: none is tried again by itself. */
  nextRetryAt: Date | null;
}

/** Failed and skipped items, counted by shown state and error class; the most frequent first. */
export function countFailures(database: Queryable, connectionId: string): Promise<FailureCauseRow[]> {
  return database.query<FailureCauseRow>(sql`
    with failing as (
      select ${columns} from ${itemsWithFailure}
      where i.connection_id = ${connectionId} and i.kind = 'document'
        and (i.state in ('failed', 'skipped') or d.id is not null)
    ), causes as (
      select distinct on ("state", "errorClass") "state", "errorClass", "error", "updatedAt" as "lastAt",
        (count(*) over cause)::integer as "count", min("nextRetryAt") over cause as "nextRetryAt"
      from failing window cause as (partition by "state", "errorClass")
      order by "state", "errorClass", "updatedAt" desc, "id"
    )
    select * from causes order by "count" desc, "state", "errorClass"`);
}

/** Items that held sweeps would remove. */
export async function listHeldItems(
  database: Queryable,
  connectionId: string,
  page: ItemPage,
): Promise<ListedItemRow[]> {
  return database.query<ListedItemRow>(sql`
    select ${columns} from ${itemsWithFailure}
      join partitions p on p.connection_id = i.connection_id and p.id = i.partition_id
    where i.connection_id = ${connectionId} and p.held_sweep is not null and p.held_sweep -> 'rejected' is null and i.state = 'gone'
      and i.missing_since is not null and i.document_id is not null and ${following(page)}
    order by i.partition_id, i.ext_id limit ${page.limit}`);
}

/** Items by their id at the source or their customId; one id can stand in several partitions. */
export async function findItems(database: Queryable, connectionId: string, id: string): Promise<ListedItemRow[]> {
  return database.query<ListedItemRow>(sql`
    select ${columns} from ${itemsWithFailure}
    where i.connection_id = ${connectionId} and i.kind = 'document' and (i.ext_id = ${id} or i.custom_id = ${id})
    order by i.ext_id = ${id} desc, i.partition_id, i.ext_id limit 100`);
}

const fresh = (now: Date) =>
  sql`state = 'pending', next_try = ${now}, attempts = 0, lost_workers = 0, error = null, error_class = null, updated_at = ${now}`;

/**
 * Makes items due now with fresh attempts, except those that the coverage leaves out. A document that failed is
 * processed again, and read again at its source where it failed for good: it may have been mended there. Answers
 * how many items.
 */
export async function retrySelected(
  tx: Transaction,
  connectionId: string,
  { states, errorClasses }: ItemSelection,
  now: Date,
): Promise<number> {
  const ofState = (state: Sql) => (states.length === 0 ? sql`true` : sql`${state} = any(${states}::text[])`);
  const ofClass = (name: Sql) => (errorClasses.length === 0 ? sql`true` : sql`${name} = any(${errorClasses}::text[])`);
  const items = await tx.execute(sql`
    update sync_items i set ${fresh(now)}
    where i.connection_id = ${connectionId} and i.kind = 'document' and ${ofState(itemState)}
      and ${ofClass(rawSql('i.error_class'))} and i.state in ('failed', 'skipped', 'suppressed') and not ${isLeftOut}`);
  const documents = await tx.execute(sql`
    with failing as (
      select d.id, i.partition_id, i.ext_id, d.next_attempt_at is null as for_good
      from documents d join sync_items i on i.document_id = d.id
      where i.connection_id = ${connectionId} and i.state = 'done' and not ${isLeftOut}
        and d.status = 'failed' and d.deleted_at is null
        and ${ofState(documentState)} and ${ofClass(rawSql('d.error_code'))}
    ), read_again as (
      update sync_items i set ${fresh(now)} from failing f
      where f.for_good and i.connection_id = ${connectionId} and i.partition_id = f.partition_id and i.ext_id = f.ext_id
    )
    update documents d set ${freshDocument(now)} where d.id in (select f.id from failing f)`);
  return items + documents;
}

const freshDocument = (now: Date) => sql`status = 'queued', attempts = 0, redrives = 0, next_attempt_at = ${now},
  updated_at = ${now}, error_code = null, error_message = null`;

/** The same for one item and its document, unless it is being read, left out or gone. Answers whether it was done. */
export async function retryItem(tx: Transaction, connectionId: string, place: ItemPlace, now: Date): Promise<boolean> {
  await tx.execute(sql`
    update documents d set ${freshDocument(now)}
    where d.status = 'failed' and d.deleted_at is null and d.id = (
      select i.document_id from sync_items i
      where i.connection_id = ${connectionId} and i.partition_id = ${place.partition} and i.ext_id = ${place.id})`);
  const count = await tx.execute(sql`
    update sync_items i set ${fresh(now)}
    where i.connection_id = ${connectionId} and i.partition_id = ${place.partition} and i.ext_id = ${place.id}
      and i.state not in ('held', 'fetching', 'gone') and not ${isLeftOut}`);
  return count === 1;
}
