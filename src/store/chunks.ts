import type { Queryable, Transaction } from './database.ts';
import { rowSet, type Columns } from './row-set.ts';
import { sql } from './sql.ts';
import { noteLanguages } from './text-languages.ts';

export interface ChunkWrite {
  id: string;
  document_id: string;
  container_tag: string;
  position: number;
  content: string;
  context: string | null;
  /** The kind of text, see `ChunkDraft`. */
  type: string;
  token_count: number;
  content_hash: string;
  /** Joined by spaces, or one by one. */
  terms: string | readonly string[];
  /** As PostgreSQL writes an array, or one by one. */
  term_counts: string | readonly number[];
  term_total: number;
  /** Whose stems are among the terms. */
  languages: readonly string[];
  /** Null while its vector is to be made. */
  embedding: Float32Array | null;
  embedding_model: string | null;
}

const chunkColumns: Columns<Omit<ChunkWrite, 'languages'>> = {
  id: 'text',
  document_id: 'text',
  container_tag: 'text',
  position: 'integer',
  content: 'text',
  context: 'text',
  type: 'text',
  token_count: 'integer',
  content_hash: 'text',
  terms: 'words',
  term_counts: 'smallint[]',
  term_total: 'integer',
  embedding: 'vector',
  embedding_model: 'text',
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
  document_id: string;
  position: number;
  content_hash: string;
  embedding_model: string | null;
}

export async function storedChunks(database: Queryable, documentIds: readonly string[]): Promise<StoredChunk[]> {
  return database.query<StoredChunk>(sql`
    select id, document_id, position, content_hash, embedding_model from chunks
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
