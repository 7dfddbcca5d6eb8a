import type { Queryable, Transaction } from './database.ts';
import type { WrittenTurn } from './document-contents.ts';
import { filterable } from './filters.ts';
import { rowSet, sql } from './sql.ts';

/** A document whose memories are looked for. */
export interface MinedDocument {
  id: string;
  revision: number;
  containerTag: string;
  taskType: string;
  text: string;
  /** Turns of a conversation; null for everything else. */
  messages: { role: 'user' | 'assistant' | 'system' | 'tool'; text: string; name?: string }[] | null;
  /** Pieces of the text that different people wrote; null: it is one text. */
  turns: WrittenTurn[] | null;
  /** Whom the source or the text names. */
  author: string | null;
  trust: 'told' | 'own' | 'read';
  /** The source's owner according to its connection. */
  owner: { author: string | null; trust: 'own' | 'read' | null };
  /** The setting of its connection, else of its container. */
  memories: 'off' | 'facts' | 'facts+episodes' | null;
  isTranscript: boolean;
  /** The day on which it was said. */
  date: Date;
  entityContext: string | null;
  metadata: Record<string, unknown>;
  /** Which memories it is compared with; null: all of the container. */
  filterByMetadata: Record<string, unknown> | null;
  attempts: number;
}

const columns = sql`d.id, d.revision, d.container_tag as "containerTag", d.task_type as "taskType",
  case when c.turns is null then coalesce(c.content, c.raw, '') else coalesce(c.raw, '') end as text, c.messages, c.turns,
  d.author, d.trust, jsonb_build_object('author', o.author, 'trust', o.trust) as owner,
  coalesce(o.memories, t.memories) as memories, d.is_transcript as "isTranscript",
  coalesce(d.written_at, d.document_date, d.created_at) as date,
  coalesce(d.supporting_context, t.entity_context) as "entityContext", ${filterable} as metadata, d.filter_by_metadata as "filterByMetadata", d.dream_attempts as attempts`;

const sources = sql`documents d join document_contents c on c.document_id = d.id
    left join container_tags t on t.tag = d.container_tag left join connections o on o.id = d.connection_id`;

/** By ids, without regard to whether they wait for it. */
export function minedDocuments(database: Queryable, ids: readonly string[]): Promise<MinedDocument[]> {
  return database.query<MinedDocument>(sql`
    select ${columns}
    from ${sources}
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

/**
 * Documents of one container whose memories are to be found now, oldest first. The container is that of the
 * document that waits longest, unless more may still come to it. Only the few documents of such containers
 * are passed over: one with many is read at once.
 */
export async function dueForDreaming(database: Queryable, waiting: Waiting): Promise<MinedDocument[]> {
  const { now, quietSince, waitedSince, enough, limit } = waiting;
  const waits = sql`dreaming_status = 'dreaming' and status = 'done' and deleted_at is null`;
  return database.query<MinedDocument>(sql`
    with due as materialized (
      select w.container_tag from documents w
      where ${waits} and w.dream_at <= ${now} and (w.dream_at <= ${waitedSince} or (
        select count(*) >= ${enough} or max(b.updated_at) <= ${quietSince} from (
          select o.updated_at from documents o
          where o.dreaming_status = 'dreaming' and o.status = 'done' and o.deleted_at is null and o.container_tag = w.container_tag
          limit ${enough}) b))
      order by w.dream_at, w.id limit 1
    ), taken as materialized (
      select id from documents
      where ${waits} and container_tag = (select container_tag from due) and dream_at <= ${now}
      order by coalesce(written_at, document_date, created_at), id limit ${limit}
    )
    select ${columns} from ${sources} where d.id in (select id from taken) order by date, d.id`);
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
    update documents d set dreaming_status = 'done', dream_attempts = 0
    from ${set.from}
    where d.id = r.id and d.revision = r.revision and d.status = 'done' and d.deleted_at is null
    returning d.id, d.container_tag as tag`);
  return new Map(rows.map(({ id, tag }) => [id, tag]));
}

export async function postponeDreaming(database: Queryable, ids: readonly string[], until: Date): Promise<void> {
  await database.execute(sql`
    update documents set dream_attempts = dream_attempts + 1, dream_at = ${until} where id = any(${ids}::text[])`);
}
