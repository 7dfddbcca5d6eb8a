import { shownMetadata } from '../memory-metadata.ts';
import { rawSql, sql, type Sql } from '../sql.ts';
import type { SearchPlan } from './search-plan.ts';

/** A row of the search statement. There is always one; without results its `id` is null. */
export interface ResultRow {
  id: string | null;
  kind: 'chunk' | 'memory';
  text: string;
  /** What it is ranked by. */
  score: number;
  similarity: number;
  metadata: Record<string, unknown> | null;
  updated_at: Date;
  version: number | null;
  /** Of a chunk in its document. */
  position: number | null;
  root_memory_id: string | null;
  filepath: string | null;
  documents: ResultDocumentRow[];
  /** How many nearest vectors were found; null when all chunks were read. */
  nearest_found: number | null;
}

export interface ResultDocumentRow {
  id: string;
  customId: string | null;
  title: string | null;
  type: string;
  url: string | null;
  metadata: Record<string, string | number | boolean | string[]>;
  summary: string | null;
  createdAt: string;
  updatedAt: string;
}

/** Reads what the results show; only the rows of `top` are looked up. */
export function resultRows(plan: SearchPlan): Sql {
  const counted = plan.chunks?.kind === 'candidates' && plan.vector !== null;
  const found = rawSql(counted ? '(select count(*) from nearest)' : 'null::bigint');
  const kinds = [...(plan.chunks ? [chunkRows(plan)] : []), ...(plan.memories ? [memoryRows(plan)] : [])];
  const rows = kinds.length === 2 ? sql`${kinds[0]} union all ${kinds[1]}` : kinds[0]!;
  return sql`
  select r.id, r.kind, r.text, r.score, r.similarity, r.metadata, r.updated_at, r.version, r.position, r.root_memory_id, r.filepath,
    r.documents, ${found} as nearest_found
  from (select 1) always left join (${rows}) r on true
  order by r.score desc, r.id`;
}

function chunkRows(plan: SearchPlan): Sql {
  const documents = plan.details.documents ? sql`jsonb_build_array(${documentJson(plan)})` : rawSql(`'[]'::jsonb`);
  return sql`select t.id, t.kind, t.score, t.similarity, c.content as text, d.metadata, d.updated_at,
      null::integer as version, c.position, null::text as root_memory_id, d.filepath, ${documents} as documents
    from top t join chunks c on c.id = t.id join documents d on d.id = c.document_id where t.kind = 'chunk'`;
}

function memoryRows(plan: SearchPlan): Sql {
  const documents = plan.details.documents
    ? sql`coalesce(jsonb_agg(${documentJson(plan)} order by s.created_at, d.id), '[]')`
    : rawSql(`'[]'::jsonb`);
  return sql`select t.id, t.kind, t.score, t.similarity, m.memory as text, ${shownMetadata} as metadata, m.updated_at,
      m.version, null::integer as position, m.root_memory_id, sources.filepath, sources.documents
    from top t join memories m on m.id = t.id cross join lateral (
      select (array_agg(d.filepath order by s.created_at, d.id))[1] as filepath, ${documents} as documents
      from memory_sources s join documents d on d.id = s.document_id
      where s.memory_id = t.id and d.deleted_at is null) sources
    where t.kind = 'memory'`;
}

function documentJson({ details }: SearchPlan): Sql {
  const summary = rawSql(details.summaries ? 'd.summary' : 'null');
  return sql`jsonb_build_object('id', d.id, 'customId', d.custom_id, 'title', d.title, 'type', d.type, 'url', d.url,
      'metadata', d.metadata, 'summary', ${summary}, 'createdAt', d.created_at, 'updatedAt', d.updated_at)`;
}
