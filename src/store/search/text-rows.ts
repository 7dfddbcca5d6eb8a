import type { Queryable } from '../database.ts';
import { joinSql, rawSql, sql, type Sql } from '../sql.ts';
import { placesOf } from './candidates.ts';
import { hiddenMemories, visible } from './conditions.ts';
import type { SearchedKind } from './search-plan.ts';

/** A text with all that a search ranks it by. */
export interface TextRow {
  id: string;
  type: 'text' | 'turn' | 'question' | 'reply' | 'fact' | 'episode';
  /** In terms. */
  length: number;
  /** Joined by spaces, and how often each of them stands in it, joined by commas. */
  terms: string;
  counts: string;
  /** As pgvector sends it; null without a vector of the model. */
  vector: Uint8Array | null;
  /** When it was said or written. */
  date: Date | null;
  isInference: boolean;
  statement: string | null;
  forgetAfter: Date | null;
  /** Of a chunk its document, of a memory all that it came from. */
  documents: string[];
  /** Of a chunk whether memories came from its document. */
  isMined: boolean;
  places: TextPlace[];
}

/** Chunks of a document, and of a memory the stretch of text; null: not known. */
interface TextPlace {
  document: string;
  first: number | null;
  last: number | null;
  start: number | null;
  end: number | null;
}

/** Texts of a kind in a scope that a process compares in memory, at the most: 360 MB, and 60 MB in each of several. */
export const mostResidentTexts = { pglite: 120_000, postgres: 20_000 } as const;
/** Texts of all scopes together. */
export const mostResidentInAll = { pglite: 180_000, postgres: 60_000 } as const;

type Seen = Parameters<typeof visible>[0];

/** The texts after an id, in the order of their ids. */
export function readTexts(
  database: Queryable,
  seen: Seen,
  model: string,
  page: { after: string; limit: number },
): Promise<TextRow[]> {
  return database.query<TextRow>(sql`
    ${selectTexts(seen, model)} and t.id > ${page.after} order by t.id limit ${page.limit}`);
}

/** Those of these texts, and of these documents, that are to be seen. */
export function readChangedTexts(
  database: Queryable,
  seen: Seen,
  model: string,
  { documents, memories }: Pick<TextChanges, 'documents' | 'memories'>,
): Promise<TextRow[]> {
  const changed =
    seen.kind === 'chunks'
      ? sql`t.document_id = any(${documents}::text[])`
      : sql`t.id in (
          select unnest(${memories}::text[])
          union select s.memory_id from memory_sources s where s.document_id = any(${documents}::text[]))`;
  return database.query<TextRow>(sql`${selectTexts(seen, model)} and ${changed}`);
}

function selectTexts(seen: Seen, model: string): Sql {
  const hidden = hiddenMemories(seen);
  const before = hidden.length > 0 ? sql`with ${joinSql(hidden, ', ')} ` : rawSql('');
  const ranked = sql`t.id, t.term_total as length, array_to_string(t.terms, ' ') as terms,
      array_to_string(t.term_counts, ',') as counts,
      case when t.embedding_model = ${model} then vector_send(t.embedding) end as vector`;
  if (seen.kind === 'chunks') {
    return sql`${before}select ${ranked}, t.type, coalesce(w.written_at, w.document_date) as date,
        false as "isInference", null as statement, null::timestamptz as "forgetAfter", array[t.document_id] as documents,
        exists (select from memory_sources s where s.document_id = t.document_id) as "isMined",
        jsonb_build_array(jsonb_build_object('document', t.document_id, 'first', t.position, 'last', t.position)) as places
      from chunks t join documents w on w.id = t.document_id where ${visible(seen)}`;
  }
  return sql`${before}select ${ranked}, t.kind as type, t.said_at as date, t.is_inference as "isInference",
      t.content_hash as statement, t.forget_after as "forgetAfter", false as "isMined",
      array(select s.document_id from memory_sources s where s.memory_id = t.id) as documents,
      (select coalesce(jsonb_agg(jsonb_build_object(
          'document', o.document_id, 'first', o.first, 'last', o.last, 'start', o.start, 'end', o.end)), '[]')
        from (${placesOf}) o) as places
    from memories t where ${visible(seen)}`;
}

/** Changes committed between two snapshots. */
interface TextChanges {
  /** Of the database at this moment, as PostgreSQL writes it. */
  snapshot: string;
  documents: string[];
  memories: string[];
  /** There were more than the limit, so not all of them are told. */
  areMore: boolean;
}

export async function readSnapshot(database: Queryable): Promise<string> {
  const [row] = await database.query<{ snapshot: string }>(sql`select pg_current_snapshot()::text as snapshot`);
  return row!.snapshot;
}

export async function readTextChanges(database: Queryable, since: string, limit: number): Promise<TextChanges> {
  const [row] = await database.query<TextChanges>(sql`
    select pg_current_snapshot()::text as snapshot, count(*) > ${limit} as "areMore",
      coalesce(array_agg(distinct document_id) filter (where document_id is not null), '{}') as documents,
      coalesce(array_agg(distinct memory_id) filter (where memory_id is not null), '{}') as memories
    from (
      select document_id, memory_id from text_changes
      where transaction_id >= pg_snapshot_xmin(${since}::pg_snapshot)
        and not pg_visible_in_snapshot(transaction_id, ${since}::pg_snapshot)
      limit ${limit + 1}) changed`);
  return row!;
}

/** Of each of these, whether the text holds the pattern that is asked of it. */
export async function readHolding(
  database: Queryable,
  kind: SearchedKind,
  asked: readonly { id: string; pattern: string }[],
): Promise<boolean[]> {
  const text = rawSql(kind === 'chunks' ? `concat_ws(' ', t.context, t.content)` : 't.memory');
  const rows = await database.query<{ place: number }>(sql`
    select a.place
    from unnest(${asked.map(({ id }) => id)}::text[], ${asked.map(({ pattern }) => pattern)}::text[])
        with ordinality as a (id, pattern, place)
      join ${rawSql(kind)} t on t.id = a.id
    where ${text} ~* a.pattern`);
  const holding = new Set(rows.map(({ place }) => place));
  return asked.map((_, index) => holding.has(index + 1));
}

/** Forgets changes of texts that every process has followed by now, or reads anew. */
export async function deleteOldTextChanges(database: Queryable, notedBefore: Date): Promise<number> {
  return database.execute(sql`delete from text_changes where noted_at < ${notedBefore}`);
}
