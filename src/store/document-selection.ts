import type { Queryable, Transaction } from './database.ts';
import { inContainers } from './documents.ts';
import { hideMemoriesOf } from './memory-versions.ts';
import { rawSql, sql, type Sql } from './sql.ts';
import { isToBeRead, lacksVectors } from './processing.ts';

/** Documents of some containers (null: of any), all of them or those at a path. */
export interface DocumentSelection {
  containerTags: readonly string[] | null;
  /** Exact, or a prefix when it ends with `/`. */
  filepath?: string;
}

/** The condition of a path on a document `d`. */
export function atFilepath(filepath: string): Sql {
  return filepath.endsWith('/') ? sql`starts_with(d.filepath, ${filepath})` : sql`d.filepath = ${filepath}`;
}

function selected({ containerTags, filepath }: DocumentSelection): Sql {
  const inTags = inContainers(rawSql('d.container_tag'), containerTags);
  return filepath === undefined ? inTags : sql`${inTags} and ${atFilepath(filepath)}`;
}

/** Some of the visible ones. */
export async function selectDocuments(
  database: Queryable,
  selection: DocumentSelection,
  limit: number,
): Promise<string[]> {
  const rows = await database.query<{ id: string }>(sql`
    select d.id from documents d where d.deleted_at is null and ${selected(selection)} order by d.id limit ${limit}`);
  return rows.map((row) => row.id);
}

/**
 * Hides all visible ones, and lets no sync bring them back. Nobody sees them from now on, and the
 * next clean-up deletes them: they count as hidden since `since`.
 */
export async function hideDocuments(
  tx: Transaction,
  selection: DocumentSelection,
  { since, now }: { since: Date; now: Date },
): Promise<number> {
  const hidden = await tx.query<{ id: string }>(sql`
    with hidden as (
      update documents d set deleted_at = ${since}, deleted_rev = null, custom_id = null
      where d.deleted_at is null and ${selected(selection)} returning d.id
    ), suppressed as (
      update sync_items set state = 'suppressed', document_id = null, lease_token = null, updated_at = ${now}
      where document_id in (select id from hidden)
    )
    select id from hidden`);
  await hideMemoriesOf(
    tx,
    hidden.map(({ id }) => id),
    now,
  );
  return hidden.length;
}

export interface DocumentCount {
  total: number;
  waiting: number;
  failed: number;
  /** Of those that failed, the ones of no connection. */
  failedUploads: number;
}

/** How many there are, how many of them are still to be processed, and how many could not be. */
export async function countDocuments(database: Queryable, where: Sql): Promise<DocumentCount> {
  const [row] = await database.query<DocumentCount>(sql`
    select count(*) as total, count(*) filter (where d.status not in ('done', 'failed', 'unknown')) as waiting,
      count(*) filter (where d.status = 'failed') as failed,
      count(*) filter (where d.status = 'failed' and d.connection_id is null) as "failedUploads"
    from documents d where d.deleted_at is null and ${where}`);
  return row!;
}

export interface StatusCount {
  status: string;
  count: number;
}

export async function countByStatus(database: Queryable, tags: readonly string[] | null): Promise<StatusCount[]> {
  return database.query(sql`
    select d.status, count(*) as count from documents d
    where d.deleted_at is null and ${inContainers(rawSql('d.container_tag'), tags)}
    group by d.status`);
}

/** Of those that are still to be processed and for which `where` holds. Reads no others, by their two indexes. */
export async function countOpenByStatus(database: Queryable, where: Sql): Promise<StatusCount[]> {
  return database.query(sql`
    select status, count(*) as count from (
      select d.status from documents d where ${isToBeRead} and ${where}
      union all
      select d.status from documents d where ${lacksVectors} and ${where}) open
    group by status`);
}
