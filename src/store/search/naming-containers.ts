import type { Queryable } from '../database.ts';
import { sql } from '../sql.ts';

/** Containers with documents that name one of the tags beside their container. */
export async function containersNaming(database: Queryable, tags: readonly string[]): Promise<string[]> {
  const rows = await database.query<{ tag: string }>(sql`
    select distinct d.container_tag as tag from documents d
    where d.container_tags && ${tags}::text[] and d.deleted_at is null`);
  return rows.map(({ tag }) => tag);
}
