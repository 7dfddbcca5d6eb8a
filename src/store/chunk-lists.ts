import type { Queryable } from './database.ts';
import { inContainers } from './documents.ts';
import { compileFilter, filterable, type Filter } from './filters.ts';
import { rawSql, sql } from './sql.ts';

export interface ListedChunkRow {
  id: string;
  documentId: string;
  position: number;
  content: string;
  type: string;
  metadata: Record<string, unknown>;
  createdAt: Date;
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
