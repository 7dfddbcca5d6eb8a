import type { Queryable, Transaction } from './database.ts';
import { inContainers } from './documents.ts';
import { compileFilter, filterable, type Filter } from './filters.ts';
import { rowSet, type Columns, rawSql, sql } from './sql.ts';
import { noteLanguages } from './text-languages.ts';

/** A piece of a text that one person wrote, by its place in what was sent. */
export interface WrittenTurn {
  start: number;
  end: number;
  author: string | null;
  /** The source itself vouches that its owner wrote it. */
  own: boolean;
  /** ISO 8601. */
  date: string | null;
}

export interface ContentWrite {
  documentId: string;
  kind: string;
  raw: string | null;
  bytes: Uint8Array | null;
  mimeType: string | null;
  fileName: string | null;
  keepBytes: boolean;
  turns: readonly WrittenTurn[] | null;
}

const contentColumns: Columns<ContentWrite> = {
  documentId: 'text',
  kind: 'text',
  raw: 'text',
  bytes: 'bytea',
  mimeType: 'text',
  fileName: 'text',
  keepBytes: 'boolean',
  turns: 'jsonb',
};

/** Stores what was sent; what is no conversation any more loses its turns. The text of an earlier version stays readable until the new one is extracted. */
export async function writeContents(tx: Transaction, rows: readonly ContentWrite[]): Promise<void> {
  const set = rowSet('r', contentColumns, rows);
  await tx.execute(sql`
    insert into document_contents (${set.names})
    select ${set.select} from ${set.from}
    on conflict (document_id) do update set kind = excluded.kind, raw = excluded.raw, bytes = excluded.bytes,
      mime_type = excluded.mime_type, file_name = excluded.file_name, keep_bytes = excluded.keep_bytes, turns = excluded.turns,
      messages = case when excluded.kind = 'conversation' then document_contents.messages end,
      content = case when excluded.raw is null then document_contents.content end`);
}

/** Raw texts as stored so far, for inputs that append to them. */
export async function rawTexts(tx: Queryable, ids: readonly string[]): Promise<Map<string, string>> {
  const rows = await tx.query<{ id: string; raw: string | null; content: string | null }>(sql`
    select document_id as id, case when kind <> 'url' then raw end as raw, content from document_contents where document_id = any(${ids}::text[])`);
  return new Map(rows.map((row) => [row.id, row.raw ?? row.content ?? '']));
}

export interface StoredFile {
  bytes: Uint8Array;
  name: string | null;
  mimeType: string | null;
}

const fileOf = rawSql(`from documents d join document_contents c on c.document_id = d.id
    where d.deleted_at is null and c.keep_bytes and c.bytes is not null and d.id =`);

/** Null when the document has no file that is kept. */
export async function findFileName(database: Queryable, documentId: string): Promise<{ name: string | null } | null> {
  const rows = await database.query<{ name: string | null }>(sql`select c.file_name as name ${fileOf} ${documentId}`);
  return rows[0] ?? null;
}

export async function readStoredFile(database: Queryable, documentId: string): Promise<StoredFile | null> {
  const rows = await database.query<StoredFile>(
    sql`select c.bytes, c.file_name as name, c.mime_type as "mimeType" ${fileOf} ${documentId}`,
  );
  return rows[0] ?? null;
}

/** The turns that a conversation's document was made of; null when it is none, or was changed otherwise. */
export async function readMessages(tx: Transaction, documentId: string): Promise<unknown[] | null> {
  const rows = await tx.query<{ messages: unknown[] | null }>(
    sql`select messages from document_contents where document_id = ${documentId}`,
  );
  return rows[0]?.messages ?? null;
}

export async function writeMessages(tx: Transaction, documentId: string, messages: readonly object[]): Promise<void> {
  await tx.execute(sql`
    update document_contents set messages = ${JSON.stringify(messages)}::jsonb where document_id = ${documentId}`);
}

export interface ChunkWrite {
  id: string;
  documentId: string;
  containerTag: string;
  position: number;
  content: string;
  context: string | null;
  /** The kind of text, see `ChunkDraft`. */
  type: string;
  tokenCount: number;
  contentHash: string;
  /** Joined by spaces, or one by one. */
  terms: string | readonly string[];
  /** As PostgreSQL writes an array, or one by one. */
  termCounts: string | readonly number[];
  termTotal: number;
  /** Whose stems are among the terms. */
  languages: readonly string[];
  /** Null while its vector is to be made. */
  embedding: Float32Array | null;
  embeddingModel: string | null;
}

const chunkColumns: Columns<Omit<ChunkWrite, 'languages'>> = {
  id: 'text',
  documentId: 'text',
  containerTag: 'text',
  position: 'integer',
  content: 'text',
  context: 'text',
  type: 'text',
  tokenCount: 'integer',
  contentHash: 'text',
  terms: 'words',
  termCounts: 'smallint[]',
  termTotal: 'integer',
  embedding: 'vector',
  embeddingModel: 'text',
};

export async function insertChunks(tx: Transaction, chunks: readonly ChunkWrite[], now: Date): Promise<void> {
  const set = rowSet('r', chunkColumns, chunks);
  await tx.execute(sql`
    insert into chunks (${set.names}, created_at)
    select ${set.select}, ${now}::timestamptz from ${set.from}`);
  await noteLanguages(tx, chunks);
}

export interface StoredChunk {
  id: string;
  documentId: string;
  position: number;
  contentHash: string;
  embeddingModel: string | null;
}

export async function storedChunks(database: Queryable, documentIds: readonly string[]): Promise<StoredChunk[]> {
  return database.query<StoredChunk>(sql`
    select id, document_id as "documentId", position, content_hash as "contentHash", embedding_model as "embeddingModel"
    from chunks
    where document_id = any(${documentIds}::text[])
    order by document_id, position`);
}

export async function deleteChunks(tx: Transaction, ids: readonly string[]): Promise<void> {
  await tx.execute(sql`delete from chunks where id = any(${ids}::text[])`);
}

/** Chunks that an edit left as they were, at their new places. */
export async function moveChunks(tx: Transaction, chunks: readonly { id: string; position: number }[]): Promise<void> {
  const set = rowSet('r', { id: 'text', position: 'integer' }, chunks);
  await tx.execute(sql`update chunks c set position = r.position from ${set.from} where c.id = r.id`);
}

export interface ListedChunkRow {
  id: string;
  documentId: string;
  position: number;
  content: string;
  type: string;
  metadata: Record<string, unknown>;
  createdAt: Date;
}

export async function chunksOfDocument(
  database: Queryable,
  documentId: string,
): Promise<Omit<ListedChunkRow, 'documentId'>[]> {
  return database.query(sql`
    select id, position, content, type, metadata, created_at as "createdAt" from chunks
    where document_id = ${documentId} order by position`);
}

export interface ChunkPage {
  containerTags: readonly string[] | null;
  /** On the metadata of their documents. */
  filters?: Filter;
  sort: 'createdAt' | 'position';
  order: 'asc' | 'desc';
  limit: number;
  /** 1-based. */
  page: number;
}

/** One page, ties broken by id in the same direction so that pages never overlap, and the number in all. */
export async function listChunks(
  database: Queryable,
  { containerTags, filters, sort, order, limit, page }: ChunkPage,
): Promise<{ chunks: ListedChunkRow[]; total: number }> {
  const fits = filters ? compileFilter(filters, filterable) : rawSql('true');
  const rows = sql`chunks c join documents d on d.id = c.document_id
    where d.deleted_at is null and ${inContainers(rawSql('c.container_tag'), containerTags)} and ${fits}`;
  const column = sort === 'position' ? 'position' : 'created_at';
  const direction = order === 'asc' ? 'asc' : 'desc';
  const [counted] = await database.query<{ total: number }>(sql`select count(*) as total from ${rows}`);
  const chunks = await database.query<ListedChunkRow>(sql`
    select c.id, c.document_id as "documentId", c.position, c.content, c.type, c.metadata, c.created_at as "createdAt"
    from ${rows}
    order by ${rawSql(`c.${column} ${direction}, c.id ${direction}`)} limit ${limit} offset ${(page - 1) * limit}`);
  return { chunks, total: counted?.total ?? 0 };
}
