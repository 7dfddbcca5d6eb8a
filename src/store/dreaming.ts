import type { Queryable, Transaction } from './database.ts';
import { rowSet } from './row-set.ts';
import { sql } from './sql.ts';

/** A document whose memories are looked for. */
export interface MinedDocument {
  id: string;
  revision: number;
  containerTag: string;
  taskType: string;
  text: string;
  /** Turns of a conversation; null for everything else. */
  messages: { role: 'user' | 'assistant' | 'system' | 'tool'; text: string; name?: string }[] | null;
  /** The day on which it was said. */
  date: Date;
  entityContext: string | null;
  metadata: Record<string, unknown>;
  /** Which memories it is compared with; null: all of the container. */
  filterByMetadata: Record<string, unknown> | null;
  attempts: number;
}

const columns = sql`d.id, d.revision, d.container_tag as "containerTag", d.task_type as "taskType",
  coalesce(c.content, c.raw, '') as text, c.messages, coalesce(d.document_date, d.created_at) as date,
  t.entity_context as "entityContext", d.metadata, d.filter_by_metadata as "filterByMetadata", d.dream_attempts as attempts`;

/** By ids, without regard to whether they wait for it. */
export function minedDocuments(database: Queryable, ids: readonly string[]): Promise<MinedDocument[]> {
  return database.query<MinedDocument>(sql`
    select ${columns}
    from documents d join document_contents c on c.document_id = d.id left join container_tags t on t.tag = d.container_tag
    where d.id = any(${ids}::text[]) order by date, d.id`);
}

export interface Waiting {
  now: Date;
  /** Nothing was finished in the container after this: it is quiet. */
  quietSince: Date;
  /** Documents that wait no longer than since then, however busy the container is. */
  waitedSince: Date;
  /** As many are not waited with. */
  enough: number;
  limit: number;
}

/** Documents of one container whose memories are to be found now, oldest first. */
export async function dueForDreaming(database: Queryable, waiting: Waiting): Promise<MinedDocument[]> {
  const isDue = sql`dreaming_status = 'dreaming' and status = 'done' and deleted_at is null
    and (dream_at is null or dream_at <= ${waiting.now})`;
  return database.query<MinedDocument>(sql`
    with due as (
      select container_tag from documents where ${isDue}
      group by container_tag
      having max(updated_at) <= ${waiting.quietSince} or min(updated_at) <= ${waiting.waitedSince}
        or count(*) >= ${waiting.enough}
      order by min(updated_at) limit 1
    ), taken as (
      select id from documents where ${isDue} and container_tag = (select container_tag from due)
      order by coalesce(document_date, created_at), id limit ${waiting.limit}
    )
    select ${columns}
    from documents d join document_contents c on c.document_id = d.id left join container_tags t on t.tag = d.container_tag
    where d.id in (select id from taken) order by date, d.id`);
}

/**
 * Marks documents as dreamt of, but only those whose revision is still the one that was read. Answers
 * these with the container they are in now; memories of the others must not be written.
 */
export async function finishDreaming(
  tx: Transaction,
  documents: readonly { id: string; revision: number }[],
): Promise<Map<string, string>> {
  const set = rowSet(
    'r',
    { id: 'text', revision: 'integer' },
    documents.map(({ id, revision }) => ({ id, revision })),
  );
  const rows = await tx.query<{ id: string; tag: string }>(sql`
    update documents d set dreaming_status = 'done', dream_attempts = 0, dream_at = null
    from ${set.from}
    where d.id = r.id and d.revision = r.revision and d.status = 'done' and d.deleted_at is null
    returning d.id, d.container_tag as tag`);
  return new Map(rows.map(({ id, tag }) => [id, tag]));
}

export async function postponeDreaming(database: Queryable, ids: readonly string[], until: Date): Promise<void> {
  await database.execute(sql`
    update documents set dream_attempts = dream_attempts + 1, dream_at = ${until} where id = any(${ids}::text[])`);
}
