import type { Transaction } from './database.ts';
import { sql } from './sql.ts';

export interface MemoryDocument {
  id: string;
  containerTag: string;
  title: string;
  content: string;
  contentHash: string;
  addedBy: string | null;
}

/** The source of memories that a caller wrote: done from the beginning, with a text and without chunks. */
export async function insertMemoryDocument(tx: Transaction, document: MemoryDocument, now: Date): Promise<void> {
  await tx.execute(sql`
    insert into documents (id, container_tag, status, task_type, type, source, title, content_hash, text_hash, added_by, created_at, updated_at)
    values (${document.id}, ${document.containerTag}, 'done', 'memory', 'text', 'memory', ${document.title},
      ${document.contentHash}, ${document.contentHash}, ${document.addedBy}, ${now}, ${now})`);
  await tx.execute(sql`
    insert into document_contents (document_id, kind, raw) values (${document.id}, 'text', ${document.content})`);
}
