import type { Queryable } from '../database.ts';
import { sql } from '../sql.ts';

/** The documents before and after one that was added in a row of others, as turns of a conversation are. */
export interface Neighbours {
  id: string;
  previous: string | null;
  next: string | null;
  /** Equal for documents of one container and date; null without a date. */
  session: string | null;
}

/** In the order in which they were added to their container; those of another date are no neighbours. */
export function readNeighbours(database: Queryable, ids: readonly string[]): Promise<Neighbours[]> {
  return database.query<Neighbours>(sql`
    select d.id, p.id as previous, n.id as next, d.container_tag || ' ' || d.document_date::text as session
    from documents d
    left join lateral (
      select id, document_date from documents
      where container_tag = d.container_tag and (created_at, id) < (d.created_at, d.id)
      order by created_at desc, id desc limit 1) p on p.document_date is not distinct from d.document_date
    left join lateral (
      select id, document_date from documents
      where container_tag = d.container_tag and (created_at, id) > (d.created_at, d.id)
      order by created_at, id limit 1) n on n.document_date is not distinct from d.document_date
    where d.id = any(${ids}::text[])`);
}
