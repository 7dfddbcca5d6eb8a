import type { Queryable, Transaction } from './database.ts';
import { mayMakeMemories } from './memory-settings.ts';
import { rowSet, type Columns, rawSql, sql, type Sql } from './sql.ts';

const isOpen = sql`status not in ('done', 'failed', 'unknown') and deleted_at is null`;
/** On a document: its content waits to be read, or is. One index has these, another one the others. */
export const isToBeRead = sql`${isOpen} and words_revision is distinct from revision`;
/** On a document: it is found by its words, and its vectors are still to be made. */
export const lacksVectors = sql`${isOpen} and words_revision = revision`;

/** A document that this worker may process until its lease ends. */
export interface ClaimedDocument {
  id: string;
  containerTag: string;
  revision: number;
  /** Failures in a row before this claim. */
  attempts: number;
  /** Workers that were lost in a row while they held it. */
  lostWorkers: number;
  redrives: number;
  /** `instant`: its memories are there when it is done. */
  dreaming: string;
  type: string;
  givenTitle: string | null;
  filepath: string | null;
  textHash: string | null;
  kind: string;
  raw: string | null;
  content: string | null;
  bytes: Uint8Array | null;
  mimeType: string | null;
  fileName: string | null;
}

export interface ClaimOptions {
  limit: number;
  leaseToken: string;
  now: Date;
  leaseUntil: Date;
  /** Leaves out documents whose stored content is larger. */
  maxBytes?: number;
}

/** Documents that as many workers were lost with are taken alone, so that only one of a batch can be to blame. */
export const suspectAfter = 2;
/** Content that is larger is claimed one document at a time: all of a claim is in the memory of its worker. */
const largeFromBytes = 256 * 1024;

/**
 * Takes due documents for one worker. `skip locked` lets workers claim side by side; the lease
 * (next_attempt_at while lease_token is set) gives them back when the worker dies. What a dead one
 * held keeps its status, so that nobody sees it go backwards; that the worker died is counted apart
 * from failures, and is no fault of the document until it happens again and again with it alone.
 */
export async function claimDocuments(database: Queryable, options: ClaimOptions): Promise<ClaimedDocument[]> {
  const isDue = sql`${isToBeRead} and next_attempt_at <= ${options.now}
    ${options.maxBytes === undefined ? sql`` : isAtMost(options.maxBytes)}`;
  return database.query<ClaimedDocument>(sql`
    with first as materialized (
      select id, lost_workers from documents d where ${isDue}
      order by next_attempt_at, id
      limit 1
      for update skip locked
    ), others as materialized (
      select id from documents d
      where ${isDue} and lost_workers < ${suspectAfter} and id not in (select id from first)
        and not exists (select from first where lost_workers >= ${suspectAfter}) ${isAtMost(largeFromBytes)}
      order by next_attempt_at, id
      limit ${options.limit - 1}
      for update skip locked
    ), due as (
      select id from first union all select id from others
    ), claimed as (
      update documents d
      set status = case d.status when 'queued' then 'extracting' else d.status end,
        lost_workers = d.lost_workers + case when d.lease_token is null then 0 else 1 end,
        lease_token = ${options.leaseToken}, next_attempt_at = ${options.leaseUntil}
      from due where d.id = due.id
      returning d.id, d.container_tag as "containerTag", d.revision, d.attempts, d.lost_workers as "lostWorkers",
        d.redrives, d.dreaming, d.type, d.given_title as "givenTitle", d.filepath, d.text_hash as "textHash"
    )
    select claimed.*, c.kind, c.raw, c.content, c.bytes, c.mime_type as "mimeType", c.file_name as "fileName"
    from claimed join document_contents c on c.document_id = claimed.id
    order by claimed.id`);
}

/** By the sizes that are stored with the values: no content is read for it. */
function isAtMost(bytes: number): Sql {
  return sql`and (
    select coalesce(octet_length(c.raw), 0) + coalesce(octet_length(c.bytes), 0) from document_contents c
    where c.document_id = d.id) <= ${bytes}`;
}

/** Keeps the lease alive and shows how far the work is. Only forward moves and only of documents still held. */
export async function renewLeases(
  database: Queryable,
  documents: readonly { id: string; status: string }[],
  options: { leaseToken: string; leaseUntil: Date },
): Promise<void> {
  const set = rowSet('r', { id: 'text', status: 'text' }, documents);
  await database.execute(sql`
    update documents d set next_attempt_at = ${options.leaseUntil}, status = r.status
    from ${set.from}
    where d.id = r.id and d.lease_token = ${options.leaseToken}
      and array_position(array['extracting', 'chunking', 'embedding', 'indexing'], d.status)
        <= array_position(array['extracting', 'chunking', 'embedding', 'indexing'], r.status)`);
}

/** Keeps documents that are already found by their words in that state. */
const asBefore = sql`case when words_revision = revision then status else 'queued' end`;

/** Gives documents back whose worker is certainly gone: at the start of the only process there is. */
export async function releaseAllLeases(database: Queryable, now: Date): Promise<number> {
  return database.execute(sql`
    update documents
    set status = ${asBefore}, lease_token = null, next_attempt_at = ${now}, lost_workers = lost_workers + 1
    where status not in ('done', 'failed', 'unknown') and lease_token is not null`);
}

/** Gives documents back unfinished, as they were (a stop, not a failure). */
export async function releaseLeases(
  database: Queryable,
  leaseToken: string,
  ids: readonly string[],
  now: Date,
): Promise<void> {
  await database.execute(sql`
    update documents set status = ${asBefore}, lease_token = null, next_attempt_at = ${now}
    where id = any(${ids}::text[]) and lease_token = ${leaseToken}`);
}

export interface FinishedDocument {
  id: string;
  revision: number;
  title: string | null;
  type: string;
  /** Picture that a page names for itself. */
  ogImage: string | null;
  textHash: string;
  /** Whom the text names as its author, which counts when the source names nobody. */
  author: string | null;
  /** When it was written, if the text says so and the time of its file means nothing: that of a mail. */
  writtenAt: Date | null;
  isTranscript: boolean;
  /** Where its chunks start and end in the text, by position. */
  chunkStarts: readonly number[];
  chunkEnds: readonly number[];
  /** Null when it equals what was sent. */
  content: string | null;
}

const finishedColumns: Columns<Omit<FinishedDocument, 'content'>> = {
  id: 'text',
  revision: 'integer',
  title: 'text',
  type: 'text',
  ogImage: 'text',
  textHash: 'text',
  author: 'text',
  writtenAt: 'timestamptz',
  isTranscript: 'boolean',
  chunkStarts: 'integer[]',
  chunkEnds: 'integer[]',
};

interface Writing {
  leaseToken: string;
  now: Date;
}

/** The assignments to a row `d` whose last stage is done. It waits to be mined if it may make memories or has some. */
function isDone({ now, memories }: { now: Date; memories: boolean }, isTranscript: Sql): Sql {
  const isMined = memories
    ? sql`${mayMakeMemories(isTranscript)} or exists (select 1 from memory_sources s where s.document_id = d.id)`
    : rawSql('false');
  return sql`status = 'done', dreaming_status = case when ${isMined} then 'dreaming' else 'done' end,
      dream_attempts = 0, dream_at = ${now}, next_attempt_at = null, redrives = 0, ${isTakenOn(now)}, lease_token = null`;
}

/** Nothing of what went wrong before counts any more. */
function isTakenOn(now: Date): Sql {
  return sql`attempts = 0, lost_workers = 0, error_code = null, error_message = null, updated_at = ${now}`;
}

/**
 * Moves documents to `done`, but only those whose lease and revision are still the claimed ones. Those that
 * may make memories, or have some, wait to be mined, unless memories are off altogether. Answers these with the container they are in now; nothing may be written for the others.
 */
export function finishDocuments(
  tx: Transaction,
  documents: readonly FinishedDocument[],
  options: Writing & { memories: boolean },
): Promise<Map<string, string>> {
  return writeRead(tx, documents, options, isDone(options, rawSql('r.is_transcript')));
}

/**
 * The same for documents whose vectors will come later: they are found by their words from here on. The lease is
 * kept by who goes on to make the vectors, or else given back.
 */
export function finishWords(
  tx: Transaction,
  documents: readonly FinishedDocument[],
  options: Writing & { keepsLease: boolean },
): Promise<Map<string, string>> {
  const { now, keepsLease } = options;
  const lease = keepsLease ? sql`` : sql`, lease_token = null, next_attempt_at = ${now}`;
  const status = sql`case d.status when 'indexing' then 'indexing' else 'embedding' end`;
  const written = sql`status = ${status}, words_revision = d.revision, ${isTakenOn(now)} ${lease}`;
  return writeRead(tx, documents, options, written);
}

/** Moves documents that have their words to `done`, as `finishDocuments` does. */
export async function finishVectors(
  tx: Transaction,
  documents: readonly { id: string; revision: number }[],
  options: Writing & { memories: boolean },
): Promise<Set<string>> {
  const rows = documents.map(({ id, revision }) => ({ id, revision }));
  const set = rowSet('r', { id: 'text', revision: 'integer' }, rows);
  const finished = await tx.query<{ id: string }>(sql`
    update documents d set ${isDone(options, rawSql('d.is_transcript'))}
    from ${set.from}
    where d.id = r.id and d.revision = r.revision and d.lease_token = ${options.leaseToken}
    returning d.id`);
  return new Set(finished.map(({ id }) => id));
}

async function writeRead(
  tx: Transaction,
  documents: readonly FinishedDocument[],
  { leaseToken }: Writing,
  change: Sql,
): Promise<Map<string, string>> {
  const set = rowSet(
    'r',
    finishedColumns,
    documents.map(({ content: _, ...row }) => row),
  );
  const rows = await tx.query<{ id: string; tag: string }>(sql`
    update documents d
    set ${change}, title = coalesce(d.given_title, r.title), type = r.type,
      og_image = r.og_image, text_hash = r.text_hash, author = coalesce(d.author, r.author),
      written_at = r.written_at, is_transcript = r.is_transcript,
      chunk_starts = r.chunk_starts::integer[], chunk_ends = r.chunk_ends::integer[]
    from ${set.from}
    where d.id = r.id and d.revision = r.revision and d.lease_token = ${leaseToken}
    returning d.id, d.container_tag as tag`);
  const finished = new Map(rows.map((row) => [row.id, row.tag]));
  const extracted = documents.filter((one) => one.content !== null && finished.has(one.id));
  if (extracted.length > 0) await writeExtracted(tx, extracted);
  return finished;
}

async function writeExtracted(tx: Transaction, documents: readonly FinishedDocument[]): Promise<void> {
  const set = rowSet(
    'r',
    { id: 'text', content: 'text' },
    documents.map(({ id, content }) => ({ id, content })),
  );
  await tx.execute(sql`
    update document_contents c set content = r.content, bytes = case when c.keep_bytes then c.bytes end
    from ${set.from} where c.document_id = r.id`);
}

export interface FailedDocument {
  id: string;
  type: string;
  status: 'queued' | 'failed';
  /** When it is tried again; null = never by itself. */
  nextAttemptAt: Date | null;
  errorCode: string;
  errorMessage: string;
}

const failedColumns: Columns<FailedDocument> = {
  id: 'text',
  type: 'text',
  status: 'text',
  nextAttemptAt: 'timestamptz',
  errorCode: 'text',
  errorMessage: 'text',
};

export async function failDocuments(
  database: Queryable,
  documents: readonly FailedDocument[],
  options: { leaseToken: string; now: Date },
): Promise<void> {
  const set = rowSet('r', failedColumns, documents);
  await database.execute(sql`
    update documents d
    set status = r.status, type = r.type, next_attempt_at = r.next_attempt_at, lease_token = null,
      attempts = d.attempts + 1, lost_workers = case r.error_code when 'lost_worker' then ${suspectAfter} else 0 end,
      error_code = r.error_code, error_message = r.error_message, updated_at = ${options.now}
    from ${set.from}
    where d.id = r.id and d.lease_token = ${options.leaseToken}`);
}

/** Failed documents whose next drive is due go back to `queued` with fresh attempts. */
export async function redriveDocuments(database: Queryable, now: Date): Promise<number> {
  return database.execute(sql`
    update documents
    set status = 'queued', attempts = 0, redrives = redrives + 1, next_attempt_at = ${now}, updated_at = ${now}
    where status = 'failed' and deleted_at is null and next_attempt_at <= ${now}`);
}

/** How many documents could be claimed now, counted up to `limit`. */
export async function countDueDocuments(database: Queryable, now: Date, limit: number): Promise<number> {
  const [row] = await database.query<{ due: number }>(sql`
    select count(*) as due from (
      select 1 from documents where ${isToBeRead} and next_attempt_at <= ${now}
      union all
      select 1 from documents where ${lacksVectors} and next_attempt_at <= ${now}
      limit ${limit}) as due_documents`);
  return row?.due ?? 0;
}
