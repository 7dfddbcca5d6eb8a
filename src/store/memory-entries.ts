import type { Queryable } from './database.ts';
import { sql } from './sql.ts';

/** A memory with its place among others, as graphs show it. */
export interface MemoryEntry {
  id: string;
  documentId: string;
  containerTag: string;
  /** Id of the container. */
  spaceId: string;
  memory: string;
  kind: 'fact' | 'episode';
  category: string | null;
  author: string | null;
  trust: 'told' | 'own' | 'read';
  saidAt: Date | null;
  version: number;
  isLatest: boolean;
  isForgotten: boolean;
  isStatic: boolean;
  isInference: boolean;
  forgetAfter: Date | null;
  forgetReason: string | null;
  parentMemoryId: string | null;
  rootMemoryId: string | null;
  /** By the id of the other memory: `updates`, `extends` or `derives`. */
  memoryRelations: Record<string, string> | null;
  sourceCount: number;
  metadata: Record<string, unknown> | null;
  createdAt: Date;
  updatedAt: Date;
}

/** Of documents, oldest first; a memory of two of them is there twice. */
export function memoryEntries(database: Queryable, documentIds: readonly string[]): Promise<MemoryEntry[]> {
  return database.query<MemoryEntry>(sql`
    select m.id, s.document_id as "documentId", m.container_tag as "containerTag", c.id as "spaceId", m.memory, m.kind, m.category, m.author, m.trust, m.said_at as "saidAt",
      m.version, m.is_latest as "isLatest", m.is_forgotten as "isForgotten", m.is_static as "isStatic",
      m.is_inference as "isInference", m.forget_after as "forgetAfter", m.forget_reason as "forgetReason",
      m.parent_memory_id as "parentMemoryId", m.root_memory_id as "rootMemoryId",
      (select jsonb_object_agg(r.to_id, r.relation) from memory_relations r where r.from_id = m.id) as "memoryRelations",
      (select count(*) from memory_sources o join documents d on d.id = o.document_id
        where o.memory_id = m.id and d.deleted_at is null) as "sourceCount",
      m.metadata, m.created_at as "createdAt", m.updated_at as "updatedAt"
    from memory_sources s join memories m on m.id = s.memory_id
      join container_tags c on c.tag = m.container_tag
    where s.document_id = any(${documentIds}::text[])
    order by m.created_at, m.id`);
}
