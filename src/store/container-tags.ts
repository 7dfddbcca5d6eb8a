import { isOnlyFromHidden } from './hidden-documents.ts';
import { firstOf } from '../base/collections.ts';
import type { Queryable, Transaction } from './database.ts';
import { clearForgotten } from './forgotten-statements.ts';
import type { Quota } from './quotas.ts';
import { sql } from './sql.ts';
import { clearLanguages } from './text-languages.ts';

export interface Bucket {
  key: string;
  description: string;
}

/** The settings of a container. */
export interface ContainerRow {
  id: string;
  containerTag: string;
  name: string | null;
  entityContext: string | null;
  memoryFilesystemPaths: string[] | null;
  /** Which content becomes a memory; null: direct input, the owner's own content and transcripts. */
  memories: 'off' | 'facts' | 'facts+episodes' | null;
  profileBuckets: Bucket[];
  quota: Quota;
  createdAt: Date;
  updatedAt: Date;
}

const columns = sql`id, tag as "containerTag", name, entity_context as "entityContext",
  memory_filesystem_paths as "memoryFilesystemPaths", memories, profile_buckets as "profileBuckets",
  jsonb_build_object('documents', quota_documents, 'bytes', quota_bytes, 'requestsPerMinute', quota_requests) as quota,
  created_at as "createdAt", updated_at as "updatedAt"`;

export async function findContainer(database: Queryable, tag: string): Promise<ContainerRow | null> {
  const rows = await database.query<ContainerRow>(sql`select ${columns} from container_tags where tag = ${tag}`);
  return rows[0] ?? null;
}

/** Makes a container when there is none. Answers whether this call made it. */
export async function insertContainer(
  tx: Transaction,
  container: { tag: string; id: string },
  now: Date,
): Promise<boolean> {
  const inserted = await tx.execute(sql`
    insert into container_tags (tag, id, created_at, updated_at) values (${container.tag}, ${container.id}, ${now}, ${now})
    on conflict (tag) do nothing`);
  return inserted === 1;
}

export async function writeContainer(
  tx: Transaction,
  row: Omit<ContainerRow, 'id' | 'createdAt'>,
): Promise<ContainerRow> {
  const rows = await tx.query<ContainerRow>(sql`
    update container_tags set name = ${row.name}, entity_context = ${row.entityContext},
      memory_filesystem_paths = ${row.memoryFilesystemPaths}::text[], memories = ${row.memories},
      profile_buckets = ${JSON.stringify(row.profileBuckets)}::jsonb, quota_documents = ${row.quota.documents},
      quota_bytes = ${row.quota.bytes}, quota_requests = ${row.quota.requestsPerMinute}, updated_at = ${row.updatedAt}
    where tag = ${row.containerTag}
    returning ${columns}`);
  return firstOf(rows);
}

/** Stores the context that a caller gives for a container while adding to it; the latest one counts. */
export async function writeEntityContext(
  tx: Transaction,
  containers: ReadonlyMap<string, string>,
  now: Date,
): Promise<void> {
  for (const [tag, entityContext] of containers) {
    await tx.execute(sql`
      update container_tags set entity_context = ${entityContext}, updated_at = ${now}
      where tag = ${tag} and entity_context is distinct from ${entityContext}`);
  }
}

/** By container: the only paths whose documents have memories. Containers without such a rule are left out. */
export async function memoryPaths(database: Queryable, tags: readonly string[]): Promise<Map<string, string[]>> {
  const rows = await database.query<{ tag: string; paths: string[] }>(sql`
    select tag, memory_filesystem_paths as paths from container_tags
    where tag = any(${tags}::text[]) and memory_filesystem_paths is not null`);
  return new Map(rows.map((row) => [row.tag, row.paths]));
}

/** The containers' own profile buckets. */
export async function bucketsOf(database: Queryable, tags: readonly string[]): Promise<Map<string, Bucket[]>> {
  const rows = await database.query<{ tag: string; buckets: Bucket[] }>(sql`
    select tag, profile_buckets as buckets from container_tags where tag = any(${tags}::text[])`);
  return new Map(rows.map((row) => [row.tag, row.buckets]));
}

export async function deleteContainer(tx: Transaction, tag: string): Promise<void> {
  await tx.execute(sql`delete from container_tags where tag = ${tag}`);
  await tx.execute(sql`delete from container_usage where tag = ${tag}`);
  await clearLanguages(tx, tag);
}

/** Takes its settings from a container that stays. Answers whether there were any. */
export async function clearContainer(tx: Transaction, tag: string, now: Date): Promise<boolean> {
  const cleared = await tx.execute(sql`
    update container_tags set entity_context = null, memory_filesystem_paths = null, memories = null, profile_buckets = '[]',
      name = null, description = null, updated_at = ${now}
    where tag = ${tag}`);
  return cleared === 1;
}

export async function allContainerTags(database: Queryable): Promise<string[]> {
  const rows = await database.query<{ tag: string }>(sql`select tag from container_tags order by tag`);
  return rows.map((row) => row.tag);
}

export async function deleteMemoriesOf(tx: Transaction, tag: string): Promise<number> {
  await clearForgotten(tx, tag);
  return tx.execute(sql`delete from memories where container_tag = ${tag}`);
}

export interface ContainerTagSummary extends Pick<
  ContainerRow,
  'id' | 'containerTag' | 'name' | 'createdAt' | 'updatedAt'
> {
  description: string | null;
  documentCount: number;
  /** Latest versions that are neither forgotten nor expired. */
  memoryCount: number;
  /** When a document in it last changed. */
  lastActivityAt: Date | null;
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

/** Containers with documents that name one of the tags beside their container. */
export async function containersNaming(database: Queryable, tags: readonly string[]): Promise<string[]> {
  const rows = await database.query<{ tag: string }>(sql`
    select distinct d.container_tag as tag from documents d
    where d.container_tags && ${tags}::text[] and d.deleted_at is null`);
  return rows.map(({ tag }) => tag);
}
