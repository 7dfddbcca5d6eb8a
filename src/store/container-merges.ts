import type { Queryable, Transaction } from './database.ts';
import { moveForgotten } from './forgotten-statements.ts';
import { noteSettingChange } from './memory-settings.ts';
import { sql } from './sql.ts';
import { moveLanguages } from './text-languages.ts';

export const mergeStatuses = [
  'queued',
  'waiting_for_ingest',
  'copying_vectors',
  'db_committing',
  'cleanup_pending',
  'completed',
  'failed',
] as const;
export type MergeStatus = (typeof mergeStatuses)[number];

export interface MergeRow {
  id: string;
  sourceTags: string[];
  targetTag: string;
  status: MergeStatus;
  progress: MergeProgress | null;
  lastError: string | null;
  attempts: number;
  /** A customId that the target has already goes on as `customId_merge`; else it is taken away. */
  renamesIds: boolean;
}

export interface MergeProgress {
  phase: string;
  /** Chunks and memories. */
  copiedRows: number;
  completedSourceTags: string[];
  /** Documents of the sources that are still processed. */
  inFlightItems: number;
  attempt: number;
}

const columns = sql`id, source_tags as "sourceTags", target_tag as "targetTag", status, progress,
  last_error as "lastError", attempts, renames_ids as "renamesIds"`;

export async function insertMerge(
  tx: Transaction,
  merge: { id: string; sourceTags: readonly string[]; targetTag: string; renamesIds: boolean },
  now: Date,
): Promise<void> {
  await tx.execute(sql`
    insert into container_merges (id, source_tags, target_tag, renames_ids, status, created_at, updated_at)
    values (${merge.id}, ${merge.sourceTags}::text[], ${merge.targetTag}, ${merge.renamesIds}, 'queued', ${now}, ${now})`);
}

export async function findMerge(database: Queryable, id: string): Promise<MergeRow | null> {
  const rows = await database.query<MergeRow>(sql`select ${columns} from container_merges where id = ${id}`);
  return rows[0] ?? null;
}

/** Of those that are not over, oldest first. */
export async function openMerges(database: Queryable): Promise<string[]> {
  const rows = await database.query<{ id: string }>(
    sql`select id from container_merges where finished_at is null order by id`,
  );
  return rows.map((row) => row.id);
}

/** One that is not over, locked; null when it is over or somebody else works on it. */
export async function lockMerge(tx: Transaction, id: string): Promise<MergeRow | null> {
  const rows = await tx.query<MergeRow>(sql`
    select ${columns} from container_merges where id = ${id} and finished_at is null for update skip locked`);
  return rows[0] ?? null;
}

export async function writeMerge(
  database: Queryable,
  merge: Omit<MergeRow, 'sourceTags' | 'targetTag' | 'renamesIds'>,
  { now, finished }: { now: Date; finished: boolean },
): Promise<void> {
  const progress = merge.progress === null ? null : JSON.stringify(merge.progress);
  await database.execute(sql`
    update container_merges set status = ${merge.status}, progress = ${progress}::jsonb,
      last_error = ${merge.lastError}, attempts = ${merge.attempts}, updated_at = ${now},
      finished_at = ${finished ? now : null}::timestamptz
    where id = ${merge.id}`);
}

/**
 * Locks containers against deletion and merging until the transaction ends. Answers those of them
 * that are part of a merge that is not over.
 */
export async function holdContainers(tx: Transaction, tags: readonly string[]): Promise<string[]> {
  const rows = await tx.query<{ tag: string; merging: boolean }>(sql`
    select tag, exists (
      select 1 from container_merges m
      where m.finished_at is null and (tag = any(m.source_tags) or tag = m.target_tag)) as merging
    from container_tags where tag = any(${tags}::text[]) order by tag for key share`);
  return rows.filter((row) => row.merging).map((row) => row.tag);
}

/** Locks containers against everybody who holds them. Answers those that exist. */
export async function lockContainers(tx: Transaction, tags: readonly string[]): Promise<string[]> {
  const rows = await tx.query<{ tag: string }>(sql`
    select tag from container_tags where tag = any(${tags}::text[]) order by tag for update`);
  return rows.map((row) => row.tag);
}

/**
 * Counts work under way in containers: documents in processing, and syncs of their connections. The
 * connections are locked, so that no sync begins before the transaction ends.
 */
export async function countInFlight(tx: Transaction, tags: readonly string[]): Promise<number> {
  const connections = await tx.query<{ syncing: boolean }>(sql`
    select lease_token is not null or exists (
      select 1 from sync_items i where i.connection_id = connections.id and i.lease_token is not null) as syncing
    from connections where container_tag = any(${tags}::text[]) order by id for update`);
  const [row] = await tx.query<{ count: number }>(sql`
    select count(*) as count from documents
    where container_tag = any(${tags}::text[]) and deleted_at is null
      and status not in ('done', 'failed', 'unknown')`);
  return (row?.count ?? 0) + connections.filter(({ syncing }) => syncing).length;
}

/** Moves everything of one container into another one. Answers how many chunks and memories moved. */
export async function moveContainer(
  tx: Transaction,
  { from, to, renamesIds }: { from: string; to: string; renamesIds: boolean },
  now: Date,
): Promise<number> {
  if (renamesIds) await renameTaken(tx, from, to);
  await tx.execute(sql`
    update documents d set custom_id = null,
      metadata = d.metadata || jsonb_build_object('mergedCustomId', d.custom_id)
    where d.container_tag = ${from} and d.deleted_at is null and d.custom_id is not null
      and exists (select 1 from documents o
        where o.container_tag = ${to} and o.custom_id = d.custom_id and o.deleted_at is null)`);
  await tx.execute(sql`
    update documents set container_tag = ${to},
      container_tags = case when container_tags is not null then array[${to}::text] end
    where container_tag = ${from}`);
  const chunks = await tx.execute(sql`update chunks set container_tag = ${to} where container_tag = ${from}`);
  const memories = await tx.execute(sql`update memories set container_tag = ${to} where container_tag = ${from}`);
  await moveLanguages(tx, from, to);
  await moveForgotten(tx, from, to, now);
  await noteSettingChange(tx, { scope: 'container', id: to });
  await tx.execute(sql`
    update connections set container_tag = ${to}, updated_at = ${now} where container_tag = ${from}`);
  return chunks + memories;
}

/** Where the longer customId is free and not too long; the others are left as they are. */
async function renameTaken(tx: Transaction, from: string, to: string): Promise<void> {
  await tx.execute(sql`
    update documents d set custom_id = d.custom_id || '_merge'
    where d.container_tag = ${from} and d.deleted_at is null and length(d.custom_id) <= 249
      and exists (select 1 from documents o
        where o.container_tag = ${to} and o.custom_id = d.custom_id and o.deleted_at is null)
      and not exists (select 1 from documents o
        where o.container_tag in (${from}, ${to}) and o.custom_id = d.custom_id || '_merge' and o.deleted_at is null)`);
}
