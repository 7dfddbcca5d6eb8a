import type { Queryable, Transaction } from './database.ts';
import { rowSet, type Columns, rawSql, sql } from './sql.ts';

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
  document_id: string;
  kind: string;
  raw: string | null;
  bytes: Uint8Array | null;
  mime_type: string | null;
  file_name: string | null;
  keep_bytes: boolean;
  turns: readonly WrittenTurn[] | null;
}

const contentColumns: Columns<ContentWrite> = {
  document_id: 'text',
  kind: 'text',
  raw: 'text',
  bytes: 'bytea',
  mime_type: 'text',
  file_name: 'text',
  keep_bytes: 'boolean',
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
