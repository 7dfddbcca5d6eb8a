import type { Queryable } from './database.ts';
import { filterable } from './filters.ts';
import { rowSet, rawSql, sql } from './sql.ts';

/** A stored memory as new statements are compared with it. */
export interface KnownMemory {
  id: string;
  containerTag: string;
  memory: string;
  kind: 'fact' | 'episode';
  author: string | null;
  trust: 'told' | 'own' | 'read';
  subject: string | null;
  slot: string | null;
  value: string | null;
  contentHash: string;
  wordsHash: string | null;
  terms: readonly string[];
  version: number;
  parentMemoryId: string | null;
  rootMemoryId: string | null;
  isLatest: boolean;
  isForgotten: boolean;
  forgottenBy: 'caller' | 'source' | 'time' | null;
  extractor: string | null;
  saidAt: Date;
  createdAt: Date;
  documentIds: string[];
  /** Those of its documents that are hidden: they say nothing until they come back. */
  hiddenDocumentIds: readonly string[];
  /** Of each of its documents, overlaid by its own; empty unless it was asked for. */
  metadata: Record<string, unknown>[];
}

export interface ComparedWith {
  containerTags: readonly string[];
  /** Statements with all that they can be recognized by. */
  statements: readonly { hash: string; wordsHash: string; subject: string; slot: string | null }[];
  documentIds: readonly string[];
  /** Memories that are named. */
  ids: readonly string[];
  withMetadata: boolean;
}

const metadataOfSources = `coalesce((select jsonb_agg(${filterable.text} || coalesce(m.metadata, '{}'))
    from memory_sources s join documents d on d.id = s.document_id where s.memory_id = m.id), '[]')`;

/** So many of a subject's newest statements are looked at for one that a new one adds to. */
export const besidesOfSubject = 50;

/**
 * Latest memories that say the same or answer the same question as one of the statements, the newest of
 * their subjects, and every memory of the documents; with all versions of what the documents said. Each
 * step is by an index.
 */
export async function knownMemories(database: Queryable, compared: ComparedWith): Promise<KnownMemory[]> {
  const { statements, documentIds, containerTags } = compared;
  const metadata = rawSql(compared.withMetadata ? metadataOfSources : "'[]'::jsonb");
  const unique = <Value>(values: readonly Value[]) => [...new Set(values)];
  const subjects = unique(statements.map(({ subject }) => subject));
  const slots = new Map(
    statements.flatMap(({ subject, slot }) => (slot === null ? [] : [[`${subject}\n${slot}`, { subject, slot }]])),
  );
  const ofSlot = rowSet('w', { subject: 'text', slot: 'text' }, [...slots.values()]);
  return database.query<KnownMemory>(sql`
    with tags as materialized (select unnest(${containerTags}::text[]) as tag),
    said as materialized (
      select memory_id as id from memory_sources where document_id = any(${documentIds}::text[])
    ), chains as materialized (
      select coalesce(m.root_memory_id, m.id) as root from memories m where m.id in (select id from said)
      union
      select coalesce(m.root_memory_id, m.id) from ${ofSlot.from} join memories m
        on m.container_tag in (select tag from tags) and m.subject = w.subject and m.slot = w.slot and m.is_latest
      union
      select coalesce(m.root_memory_id, m.id) from memories m where m.id = any(${compared.ids}::text[]) and m.container_tag in (select tag from tags)
    ), ids as (
      select id from said
      union
      select id from memories where container_tag in (select tag from tags) and is_latest
        and content_hash = any(${unique(statements.map(({ hash }) => hash))}::text[])
      union
      select id from memories where container_tag in (select tag from tags) and is_latest
        and words_hash = any(${unique(statements.map(({ wordsHash }) => wordsHash))}::text[])
      union
      select beside.id from tags cross join unnest(${subjects}::text[]) as s(subject) cross join lateral (
        select m.id from memories m where m.container_tag = tags.tag and m.subject = s.subject and m.is_latest
          and not m.is_forgotten order by m.created_at desc limit ${besidesOfSubject}) beside
      union
      select root from chains
      union
      select m.id from memories m where m.root_memory_id in (select root from chains)
    )
    select m.id, m.container_tag as "containerTag", m.memory, m.kind, m.author, m.trust, m.subject, m.slot,
      m.slot_value as value, m.content_hash as "contentHash", m.words_hash as "wordsHash", m.terms, m.version,
      m.parent_memory_id as "parentMemoryId", m.root_memory_id as "rootMemoryId", m.is_latest as "isLatest",
      m.is_forgotten as "isForgotten", m.forgotten_by as "forgottenBy", m.extractor,
      coalesce(m.said_at, m.created_at) as "saidAt", m.created_at as "createdAt",
      coalesce((select array_agg(s.document_id) from memory_sources s where s.memory_id = m.id), '{}') as "documentIds",
      coalesce((select array_agg(d.id) from memory_sources s join documents d on d.id = s.document_id
        where s.memory_id = m.id and d.deleted_at is not null), '{}') as "hiddenDocumentIds",
      ${metadata} as metadata
    from memories m where m.id in (select id from ids)
    order by m.created_at, m.id`);
}
