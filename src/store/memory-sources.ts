import type { Queryable } from './database.ts';
import { rawSql, sql } from './sql.ts';

/** A document that a memory comes from, as far as it takes to cite it. */
export interface MemorySource {
  documentId: string;
  title: string | null;
  type: string;
  url: string | null;
  filepath: string | null;
  author: string | null;
  trust: 'told' | 'own' | 'read';
  /** ISO 8601: the date of the document, else when it was added. */
  date: string;
}

/** At most 10 sources of a memory `m`, the first ones, as JSON. */
export const firstSources = rawSql(`(select coalesce(jsonb_agg(jsonb_build_object('documentId', d.id, 'title', d.title,
        'type', d.type, 'url', d.url, 'filepath', d.filepath, 'author', d.author, 'trust', d.trust,
        'date', coalesce(d.written_at, d.document_date, d.created_at)) order by d.nth), '[]')
      from (
        select d.*, row_number() over (order by s.created_at, d.id) as nth
        from memory_sources s join documents d on d.id = s.document_id
        where s.memory_id = m.id and d.deleted_at is null
        order by nth limit 10) d)`);

/** A document that a memory comes from, as it is shown beside it. */
export interface SourceDocument {
  memoryId: string;
  id: string;
  title: string | null;
  type: string;
  metadata: Record<string, unknown>;
  summary: string | null;
  createdAt: Date;
  updatedAt: Date;
}

/** Of each memory the source that changed last; nothing of one that has none. */
export function newestSources(database: Queryable, memoryIds: readonly string[]): Promise<SourceDocument[]> {
  return database.query<SourceDocument>(sql`
    select distinct on (s.memory_id) s.memory_id as "memoryId", d.id, d.title, d.type, d.metadata, d.summary,
      d.created_at as "createdAt", d.updated_at as "updatedAt"
    from memory_sources s join documents d on d.id = s.document_id
    where s.memory_id = any(${memoryIds}::text[]) and d.deleted_at is null
    order by s.memory_id, d.updated_at desc, d.id desc`);
}
