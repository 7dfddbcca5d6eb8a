import type { Queryable, Transaction } from './database.ts';
import { isToBeRead, lacksVectors } from './processing.ts';
import { rowSet, type Columns, rawSql, sql, type Sql } from './sql.ts';

/** What a document is, as it was given and read. */
interface DocumentFields {
  id: string;
  containerTag: string;
  connectionId: string | null;
  status: string;
  type: string;
  source: string | null;
  title: string | null;
  url: string | null;
  filepath: string | null;
  metadata: Record<string, unknown>;
  taskType: string;
  documentDate: Date | null;
  /** Who "I" is in its text; null: nobody is named. */
  author: string | null;
  trust: 'told' | 'own' | 'read';
}

const fieldColumns = `d.id, d.container_tag as "containerTag", d.connection_id as "connectionId", d.status, d.type,
  d.source, d.title, d.url, d.filepath, d.metadata, d.task_type as "taskType", d.document_date as "documentDate",
  d.author, d.trust`;

/** A row of `documents` as the engine reads it. */
export interface DocumentRow extends DocumentFields {
  /** As they are shown: the container alone, or all that the caller named. */
  containerTags: string[];
  customId: string | null;
  revision: number;
  dreamingStatus: string;
  summary: string | null;
  ogImage: string | null;
  errorCode: string | null;
  errorMessage: string | null;
  attempts: number;
  nextAttemptAt: Date | null;
  createdAt: Date;
  updatedAt: Date;
}

const documentColumns = rawSql(`${fieldColumns}, d.custom_id as "customId",
  coalesce(d.container_tags, array[d.container_tag::text]) as "containerTags", d.revision,
  d.dreaming_status as "dreamingStatus", d.summary, d.og_image as "ogImage", d.error_code as "errorCode",
  d.error_message as "errorMessage", d.attempts, d.next_attempt_at as "nextAttemptAt", d.created_at as "createdAt",
  d.updated_at as "updatedAt"`);

/** The stored state that ingestion compares an input with. */
export interface StoredDocument extends DocumentFields {
  customId: string;
  contentHash: string;
  givenTitle: string | null;
  dreaming: string;
  filterByMetadata: Record<string, unknown> | null;
  supportingContext: string | null;
  addedBy: string | null;
}

/** Of a document `d`. */
export const storedColumns = rawSql(`${fieldColumns}, d.custom_id as "customId", d.content_hash as "contentHash",
  d.given_title as "givenTitle", d.dreaming, d.filter_by_metadata as "filterByMetadata",
  d.supporting_context as "supportingContext", d.added_by as "addedBy"`);

/** The fields that ingesting writes. */
export interface DocumentWrite extends Omit<StoredDocument, 'customId' | 'status'> {
  customId: string | null;
  createdAt: Date;
  updatedAt: Date;
}

const writeColumns: Columns<DocumentWrite> = {
  id: 'text',
  containerTag: 'text',
  customId: 'text',
  connectionId: 'text',
  type: 'text',
  source: 'text',
  givenTitle: 'text',
  title: 'text',
  url: 'text',
  filepath: 'text',
  metadata: 'jsonb',
  taskType: 'text',
  dreaming: 'text',
  documentDate: 'timestamptz',
  filterByMetadata: 'jsonb',
  supportingContext: 'text',
  author: 'text',
  trust: 'text',
  addedBy: 'text',
  contentHash: 'text',
  createdAt: 'timestamptz',
  updatedAt: 'timestamptz',
};

/** Makes the containers that do not exist yet. */
export async function ensureContainers(
  tx: Queryable,
  containers: readonly { tag: string; id: string }[],
  now: Date,
): Promise<void> {
  const set = rowSet('r', { tag: 'text', id: 'text' }, containers);
  await tx.execute(sql`
    insert into container_tags (tag, id, created_at, updated_at)
    select r.tag, r.id, ${now}::timestamptz, ${now}::timestamptz from ${set.from}
    on conflict (tag) do nothing`);
}

/** A customId in its container. */
export interface CustomIdKey {
  tag: string;
  customId: string;
}

/** As rows `k`. */
export function customIdSet(keys: readonly CustomIdKey[]) {
  const rows = keys.map(({ tag, customId }) => ({ tag, customId }));
  return rowSet('k', { tag: 'text', customId: 'text' }, rows);
}

/**
 * The documents that hold these customIds, locked until the transaction ends. In id order, so that
 * two transactions that want the same rows wait for each other instead of deadlocking.
 */
export async function lockByCustomId(tx: Transaction, keys: readonly CustomIdKey[]): Promise<StoredDocument[]> {
  const set = customIdSet(keys);
  return tx.query<StoredDocument>(sql`
    select ${storedColumns}
    from documents d join ${set.from} on d.container_tag = k.tag and d.custom_id = k.custom_id
    where d.custom_id is not null and d.deleted_at is null
    order by d.id
    for update of d`);
}

/** A lease under which new documents are stored, for the process that goes on with them at once. */
export interface NewLease {
  token: string;
  until: Date;
}

/**
 * Inserts documents as `queued`, or as taken under a lease; answers the ids that were inserted
 * (another writer may have been first).
 */
export async function insertDocuments(
  tx: Transaction,
  rows: readonly DocumentWrite[],
  { now, lease }: { now: Date; lease: NewLease | null },
): Promise<Set<string>> {
  const set = rowSet('r', writeColumns, rows);
  const state = lease
    ? sql`'extracting', ${lease.until}::timestamptz, ${lease.token}`
    : sql`'queued', ${now}::timestamptz, null`;
  const inserted = await tx.query<{ id: string }>(sql`
    insert into documents (${set.names}, status, next_attempt_at, lease_token)
    select ${set.select}, ${state} from ${set.from}
    on conflict do nothing
    returning id`);
  return new Set(inserted.map((row) => row.id));
}

/**
 * Writes changed fields. `requeue` also starts processing again: the content is new. Another author, trust or
 * date changes what memories say, so they are looked for again.
 */
export async function updateDocuments(
  tx: Transaction,
  rows: readonly (DocumentWrite & { requeue: boolean })[],
  now: Date,
): Promise<void> {
  const set = rowSet('r', { ...writeColumns, requeue: 'boolean' }, rows);
  const says = rawSql(`d.status = 'done' and not r.requeue
    and (d.author, d.trust, d.document_date) is distinct from (r.author, r.trust, r.document_date)`);
  await tx.execute(sql`
    update documents d set
      connection_id = r.connection_id, type = r.type, source = r.source, given_title = r.given_title, title = r.title,
      url = r.url, filepath = r.filepath, metadata = r.metadata::jsonb, task_type = r.task_type, dreaming = r.dreaming,
      document_date = r.document_date, filter_by_metadata = r.filter_by_metadata::jsonb,
      supporting_context = r.supporting_context, author = r.author, trust = r.trust, added_by = r.added_by,
      content_hash = r.content_hash, updated_at = r.updated_at,
      dreaming_status = case when ${says} then 'dreaming' else d.dreaming_status end,
      dream_at = case when ${says} then ${now}::timestamptz else d.dream_at end,
      revision = case when r.requeue then d.revision + 1 else d.revision end,
      status = case when r.requeue then 'queued' else d.status end,
      lease_token = case when r.requeue then null else d.lease_token end,
      attempts = case when r.requeue then 0 else d.attempts end,
      lost_workers = case when r.requeue then 0 else d.lost_workers end,
      redrives = case when r.requeue then 0 else d.redrives end,
      next_attempt_at = case when r.requeue then ${now}::timestamptz else d.next_attempt_at end,
      error_code = case when r.requeue then null else d.error_code end,
      error_message = case when r.requeue then null else d.error_message end
    from ${set.from}
    where d.id = r.id`);
}

export async function deleteDocuments(tx: Transaction, ids: readonly string[]): Promise<number> {
  return tx.execute(sql`delete from documents where id = any(${ids}::text[])`);
}

/** Containers as a condition; null sees every one. */
export function inContainers(column: Sql, tags: readonly string[] | null): Sql {
  return tags === null ? sql`true` : sql`${column} = any(${tags}::text[])`;
}

/** The canonical text. Of a file or page there is none until it was extracted once. */
const contentColumn = rawSql(`
  case when c.kind = 'url' or (c.kind = 'file' and d.text_hash is null) then c.content else coalesce(c.content, c.raw) end`);

export type DocumentWithContent = DocumentRow & {
  content: string | null;
  raw: string | null;
  /** Whether it is worth asking for `memoriesOfDocument`. */
  hasMemories: boolean;
};

const foundColumns = rawSql(`${documentColumns.text}, ${contentColumn.text} as content,
  case when c.kind <> 'file' then c.raw end as raw,
  exists (select 1 from memory_sources s where s.document_id = d.id) as "hasMemories"`);

/** The one with this id, if the containers hold it. Cheaper than to look for both kinds of name at once. */
export async function findDocumentById(
  database: Queryable,
  id: string,
  tags: readonly string[] | null,
): Promise<DocumentWithContent | null> {
  const [row] = await database.query<DocumentWithContent>(sql`
    select ${foundColumns} from documents d left join document_contents c on c.document_id = d.id
    where d.id = ${id} and d.deleted_at is null and ${inContainers(rawSql('d.container_tag'), tags)}`);
  return row ?? null;
}

/** Those with this customId; at most `limit`. */
export async function findDocumentsByCustomId(
  database: Queryable,
  customId: string,
  tags: readonly string[] | null,
  limit: number,
): Promise<DocumentWithContent[]> {
  return database.query<DocumentWithContent>(sql`
    select ${foundColumns} from documents d left join document_contents c on c.document_id = d.id
    where d.custom_id = ${customId} and d.deleted_at is null and ${inContainers(rawSql('d.container_tag'), tags)}
    order by d.id
    limit ${limit}`);
}

export interface DocumentPage {
  where: Sql;
  sort: 'created_at' | 'updated_at';
  order: 'asc' | 'desc';
  limit: number;
  /** Rows to leave out, or the last row of the page before; null: from the start. */
  from: number | DocumentPlace | null;
  withContent: boolean;
}

/** Where a page ended. */
export interface DocumentPlace {
  at: Date;
  id: string;
}

export interface ListedDocumentRow extends DocumentRow {
  content: string | null;
  /** Bytes. */
  size: number | null;
}

/** One page, ties broken by id in the same direction so that pages never overlap. */
export async function listDocuments(database: Queryable, page: DocumentPage): Promise<ListedDocumentRow[]> {
  const { from } = page;
  const order = rawSql(`d.${page.sort} ${page.order}, d.id ${page.order}`);
  const content = page.withContent ? contentColumn : rawSql('null::text');
  const join = page.withContent ? sql`left join document_contents c on c.document_id = d.id` : sql``;
  const size = sql`(
    select greatest(octet_length(b.raw), octet_length(b.bytes), octet_length(b.content))
    from document_contents b where b.document_id = d.id)`;
  const place = typeof from === 'number' ? null : from;
  const beyond = rawSql(`(d.${page.sort}, d.id) ${page.order === 'asc' ? '>' : '<'}`);
  return database.query<ListedDocumentRow>(sql`
    select ${documentColumns}, ${content} as content, ${size} as size from documents d ${join}
    where d.deleted_at is null and ${page.where}
      and ${place === null ? sql`true` : sql`${beyond} (${place.at}, ${place.id})`}
    order by ${order} limit ${page.limit} offset ${typeof from === 'number' ? from : 0}`);
}

export interface DocumentCount {
  total: number;
  waiting: number;
  failed: number;
  /** Of those that failed, the ones of no connection. */
  failedUploads: number;
}

/** How many there are, how many of them are still to be processed, and how many could not be. */
export async function countDocuments(database: Queryable, where: Sql): Promise<DocumentCount> {
  const [row] = await database.query<DocumentCount>(sql`
    select count(*) as total, count(*) filter (where d.status not in ('done', 'failed', 'unknown')) as waiting,
      count(*) filter (where d.status = 'failed') as failed,
      count(*) filter (where d.status = 'failed' and d.connection_id is null) as "failedUploads"
    from documents d where d.deleted_at is null and ${where}`);
  return row!;
}

export interface StatusCount {
  status: string;
  count: number;
}

export async function countByStatus(database: Queryable, tags: readonly string[] | null): Promise<StatusCount[]> {
  return database.query(sql`
    select d.status, count(*) as count from documents d
    where d.deleted_at is null and ${inContainers(rawSql('d.container_tag'), tags)}
    group by d.status`);
}

/** Of those that are still to be processed and for which `where` holds. Reads no others, by their two indexes. */
export async function countOpenByStatus(database: Queryable, where: Sql): Promise<StatusCount[]> {
  return database.query(sql`
    select status, count(*) as count from (
      select d.status from documents d where ${isToBeRead} and ${where}
      union all
      select d.status from documents d where ${lacksVectors} and ${where}) open
    group by status`);
}

/** Waiting begins anew when a document is changed. */
export async function oldestWaitingAt(database: Queryable, tags: readonly string[] | null): Promise<Date | null> {
  const inScope = inContainers(rawSql('d.container_tag'), tags);
  // Together they are all that wait, and each has an index of its own.
  const [row] = await database.query<{ at: Date | null }>(sql`
    select least(
      (select min(d.updated_at) from documents d where ${isToBeRead} and ${inScope}),
      (select min(d.updated_at) from documents d where ${lacksVectors} and ${inScope})) as at`);
  return row!.at;
}

/** Puts a failed document back to `queued` with fresh attempts. Answers whether it was failed. */
export async function requeueFailed(database: Queryable, id: string, now: Date): Promise<boolean> {
  const count = await database.execute(sql`
    update documents set status = 'queued', attempts = 0, redrives = 0, next_attempt_at = ${now}, updated_at = ${now},
      error_code = null, error_message = null
    where id = ${id} and status = 'failed' and deleted_at is null`);
  return count === 1;
}

/** The same for all failed documents of some containers (null: of any) and, if named, of one connection. */
export async function requeueAllFailed(
  database: Queryable,
  { tags, connectionId }: { tags: readonly string[] | null; connectionId?: string | undefined },
  now: Date,
): Promise<number> {
  const ofConnection = connectionId === undefined ? sql`true` : sql`d.connection_id = ${connectionId}`;
  return database.execute(sql`
    update documents d set status = 'queued', attempts = 0, redrives = 0, next_attempt_at = ${now}, updated_at = ${now},
      error_code = null, error_message = null
    where d.status = 'failed' and d.deleted_at is null and ${inContainers(rawSql('d.container_tag'), tags)}
      and ${ofConnection}`);
}
