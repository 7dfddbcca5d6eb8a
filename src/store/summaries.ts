import type { Queryable, Transaction } from './database.ts';
import { sql } from './sql.ts';

/** Documents that were made searchable wait for a title and summary of the language model. */
export async function queueSummaries(tx: Transaction, documentIds: readonly string[], now: Date): Promise<void> {
  if (documentIds.length === 0) return;
  await tx.execute(sql`
    insert into documents_to_summarize (document_id, due_at)
    select id, ${now}::timestamptz from unnest(${documentIds}::text[]) as d(id)
    on conflict (document_id) do update set attempts = 0, due_at = excluded.due_at`);
}

export interface Unsummarized {
  id: string;
  revision: number;
  containerTag: string;
  /** Its beginning. */
  text: string;
  attempts: number;
}

/** Those that wait the longest, without those that are processed again. */
export async function dueForSummary(
  database: Queryable,
  { now, limit, characters }: { now: Date; limit: number; characters: number },
): Promise<Unsummarized[]> {
  return database.query<Unsummarized>(sql`
    select d.id, d.revision, d.container_tag as "containerTag", q.attempts,
      left(coalesce(c.content, c.raw, ''), ${characters}) as text
    from documents_to_summarize q join documents d on d.id = q.document_id
    join document_contents c on c.document_id = d.id
    where q.due_at <= ${now} and d.status = 'done' and d.deleted_at is null
    order by q.due_at, q.document_id limit ${limit}`);
}

/** Nothing is written to a document that has changed since; it waits again. A title of its own is kept. */
export async function writeSummary(
  tx: Transaction,
  { id, revision }: Pick<Unsummarized, 'id' | 'revision'>,
  { title, summary }: { title: string | null; summary: string | null },
): Promise<void> {
  const rows = await tx.query(sql`
    update documents set title = coalesce(title, ${title}), summary = ${summary}
    where id = ${id} and revision = ${revision} and status = 'done' returning 1`);
  if (rows.length > 0) await tx.execute(sql`delete from documents_to_summarize where document_id = ${id}`);
}

export async function postponeSummary(database: Queryable, id: string, until: Date): Promise<void> {
  await database.execute(sql`
    update documents_to_summarize set attempts = attempts + 1, due_at = ${until} where document_id = ${id}`);
}
