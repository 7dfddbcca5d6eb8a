import type { Queryable } from '../database.ts';
import { shownMetadata } from '../memories.ts';
import { joinSql, rawSql, sql, type Sql } from '../sql.ts';

/** A text as a result shows it. */
export interface ResultRow {
  id: string;
  kind: 'chunk' | 'memory';
  text: string;
  containerTag: string;
  /** Null for chunks. */
  memoryKind: 'fact' | 'episode' | null;
  /** Null for chunks, and where it is unknown. */
  category: string | null;
  /** Its speaker or author, as the source names them; null: nobody is named. */
  author: string | null;
  /** The extractor: `rules-1`, or `llm:` and a model. Null for chunks and for memories that were written as such. */
  extractor: string | null;
  trust: 'told' | 'own' | 'read';
  /** When it was said, or the date of the chunk's document. */
  saidAt: Date | null;
  /** The memory's metadata, or that of the chunk's document. */
  metadata: Record<string, unknown> | null;
  /** Of the memory, or of the chunk's document. */
  createdAt: Date;
  updatedAt: Date;
  /** Null for chunks. */
  version: number | null;
  /** Whether a later version has taken the memory's place by now. */
  isLatest: boolean;
  /** Of a memory: concluded from others. */
  isInference: boolean;
  /** Of a memory: forgotten or expired, which only `includeForgotten` finds. */
  isForgotten: boolean;
  /** Of a chunk in its document; null for memories. */
  position: number | null;
  rootMemoryId: string | null;
  filepath: string | null;
  /** The sources: the document of a chunk, and at most 10 of a memory, the first ones. */
  documents: ResultDocumentRow[];
}

export interface ResultDocumentRow {
  id: string;
  customId: string | null;
  title: string | null;
  type: string;
  url: string | null;
  filepath: string | null;
  author: string | null;
  trust: 'told' | 'own' | 'read';
  documentDate: string | null;
  metadata: Record<string, string | number | boolean | string[]>;
  summary: string | null;
  createdAt: string;
  updatedAt: string;
}

/** Sources that are shown of one memory. */
const maxSources = 10;

/** Rows as results show them, in no order. Rows deleted meanwhile are left out. */
export async function readResults(
  database: Queryable,
  found: readonly { id: string; kind: 'chunk' | 'memory' }[],
  details: { summaries: boolean; now: Date },
): Promise<ResultRow[]> {
  const idsOf = (wanted: 'chunk' | 'memory') => found.filter(({ kind }) => kind === wanted).map(({ id }) => id);
  const [chunks, memories] = [idsOf('chunk'), idsOf('memory')];
  const document = documentJson(details.summaries);
  const kinds = [
    ...(chunks.length > 0 ? [chunkRows(chunks, document)] : []),
    ...(memories.length > 0 ? [memoryRows(memories, document, details.now)] : []),
  ];
  return kinds.length === 0 ? [] : database.query<ResultRow>(joinSql(kinds, ' union all '));
}

/** Texts of chunks and memories by their ids, without those that are deleted meanwhile. */
export async function readTexts(
  database: Queryable,
  found: readonly { id: string; kind: 'chunk' | 'memory' }[],
): Promise<Map<string, string>> {
  if (found.length === 0) return new Map();
  const idsOf = (wanted: 'chunk' | 'memory') => found.filter(({ kind }) => kind === wanted).map(({ id }) => id);
  const rows = await database.query<{ id: string; text: string }>(sql`
    select id, content as text from chunks where id = any(${idsOf('chunk')}::text[])
    union all select id, memory from memories where id = any(${idsOf('memory')}::text[])`);
  return new Map(rows.map(({ id, text }) => [id, text]));
}

/** The date stated in a text goes before the date of its file. */
const dateOf = rawSql('coalesce(d.written_at, d.document_date)');

function chunkRows(ids: readonly string[], document: Sql): Sql {
  return sql`select c.id, 'chunk' as kind, c.content as text, d.container_tag as "containerTag", null::text as "memoryKind",
      null::text as category, d.author, null::text as extractor, d.trust, ${dateOf} as "saidAt", d.metadata,
      d.created_at as "createdAt", d.updated_at as "updatedAt",
      null::integer as version, true as "isLatest", false as "isInference", false as "isForgotten", c.position,
      null::text as "rootMemoryId", d.filepath,
      jsonb_build_array(${document}) as documents
    from chunks c join documents d on d.id = c.document_id where c.id = any(${ids}::text[])`;
}

function memoryRows(ids: readonly string[], document: Sql, now: Date): Sql {
  return sql`select m.id, 'memory' as kind, m.memory as text, m.container_tag as "containerTag", m.kind as "memoryKind",
      m.category, m.author, m.extractor, m.trust, m.said_at as "saidAt", ${shownMetadata} as metadata,
      m.created_at as "createdAt", m.updated_at as "updatedAt",
      m.version, m.is_latest as "isLatest", m.is_inference as "isInference",
      coalesce(m.is_forgotten or m.forget_after <= ${now}::timestamptz, false) as "isForgotten", null::integer as position,
      m.root_memory_id as "rootMemoryId", sources.filepath, sources.documents
    from memories m cross join lateral (
      select (array_agg(d.filepath order by d.nth))[1] as filepath,
        coalesce(jsonb_agg(${document} order by d.nth), '[]') as documents
      from (
        select d.*, row_number() over (order by s.created_at, d.id) as nth
        from memory_sources s join documents d on d.id = s.document_id
        where s.memory_id = m.id and d.deleted_at is null
        order by nth limit ${maxSources}) d) sources
    where m.id = any(${ids}::text[])`;
}

function documentJson(summaries: boolean): Sql {
  const summary = rawSql(summaries ? 'd.summary' : 'null');
  return sql`jsonb_build_object('id', d.id, 'customId', d.custom_id, 'title', d.title, 'type', d.type, 'url', d.url,
      'filepath', d.filepath, 'author', d.author, 'trust', d.trust, 'documentDate', ${dateOf},
      'metadata', d.metadata, 'summary', ${summary}, 'createdAt', d.created_at, 'updatedAt', d.updated_at)`;
}
