import type { Queryable, Transaction } from './database.ts';
import { inContainers } from './documents.ts';
import { hideMemoriesOf } from './memory-versions.ts';
import { rawSql, sql, type Sql } from './sql.ts';

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
