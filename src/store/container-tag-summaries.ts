import type { Queryable } from './database.ts';
import { isOnlyFromHidden } from './hidden-documents.ts';
import { sql } from './sql.ts';

export interface ContainerTagSummary {
  id: string;
  containerTag: string;
  name: string | null;
  description: string | null;
  documentCount: number;
  /** Latest versions that are neither forgotten nor expired. */
  memoryCount: number;
  /** When a document in it last changed. */
  lastActivityAt: Date | null;
  createdAt: Date;
  updatedAt: Date;
  /** The merge that it is part of, which is not over. */
  merge: { id: string; targetTag: string } | null;
}

/** One page of the containers of a scope, newest first, and the number in all. */
export async function pageOfContainerTags(
  database: Queryable,
  tags: readonly string[] | null,
  { page, limit }: { page: number; limit: number },
): Promise<{ tags: string[]; total: number }> {
  const where = tags === null ? sql`true` : sql`tag = any(${tags}::text[])`;
  const [counted] = await database.query<{ total: number }>(
    sql`select count(*) as total from container_tags where ${where}`,
  );
  const rows = await database.query<{ tag: string }>(sql`
    select tag from container_tags where ${where}
    order by created_at desc, id desc limit ${limit} offset ${(page - 1) * limit}`);
  return { tags: rows.map(({ tag }) => tag), total: counted?.total ?? 0 };
}

/**
 * The named containers, or all of them (`null`), the one with the newest activity first. The
 * counts walk documents_by_container and memories_by_container, once each for all containers.
 */
export function listContainerTagSummaries(
  database: Queryable,
  tags: readonly string[] | null,
  now: Date,
): Promise<ContainerTagSummary[]> {
  const inScope = tags === null ? sql`true` : sql`container_tag = any(${tags}::text[])`;
  const tagInScope = tags === null ? sql`true` : sql`tag = any(${tags}::text[])`;
  return database.query<ContainerTagSummary>(sql`
    with document_counts as (
      select container_tag, count(*) as total, max(updated_at) as last_activity_at
      from documents where deleted_at is null and ${inScope} group by container_tag
    ), memory_counts as (
      select container_tag, count(*) as total from memories m
      where is_latest and not is_forgotten and (forget_after is null or forget_after > ${now}) and ${inScope}
        and not ${isOnlyFromHidden}
      group by container_tag
    )
    select container_tags.id, tag as "containerTag", name, description,
      coalesce(document_counts.total, 0) as "documentCount", coalesce(memory_counts.total, 0) as "memoryCount",
      document_counts.last_activity_at as "lastActivityAt",
      container_tags.created_at as "createdAt", container_tags.updated_at as "updatedAt",
      (select jsonb_build_object('id', m.id, 'targetTag', m.target_tag) from container_merges m
        where m.finished_at is null and (m.target_tag = tag or tag = any(m.source_tags))) as merge
    from container_tags
    left join document_counts on document_counts.container_tag = tag
    left join memory_counts on memory_counts.container_tag = tag
    where ${tagInScope}
    order by document_counts.last_activity_at desc nulls last, container_tags.id desc`);
}
