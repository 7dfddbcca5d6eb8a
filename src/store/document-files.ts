import type { Queryable } from './database.ts';
import { rawSql, sql } from './sql.ts';

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
