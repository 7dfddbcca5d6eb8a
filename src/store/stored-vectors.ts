import { firstOf } from '../base/collections.ts';
import type { Queryable } from './database.ts';
import { inContainers } from './documents.ts';
import { lacksVectors, suspectAfter, type ClaimedDocument } from './processing.ts';
import { rowSet, rawSql, sql } from './sql.ts';

/** Tables whose rows have stored vectors. */
export const embeddedKinds = ['chunks', 'memories'] as const;
export type EmbeddedKind = (typeof embeddedKinds)[number];

const texts = {
  chunks: rawSql('context, content'),
  memories: rawSql('null::text as context, memory as content'),
};

/** Those whose vector is of another model, in id order. */
export async function withOtherModel(
  database: Queryable,
  kind: EmbeddedKind,
  model: string,
  options: { after: string; limit: number },
): Promise<{ id: string; context: string | null; content: string }[]> {
  return database.query(sql`
    select id, ${texts[kind]} from ${rawSql(kind)}
    where id > ${options.after} and embedding_model is distinct from ${model}
    order by id limit ${options.limit}`);
}

/** Replaces vectors, unless what they stand for is gone or somebody else was first. */
export async function replaceVectors(
  database: Queryable,
  kind: EmbeddedKind,
  model: string,
  vectors: readonly { id: string; embedding: Float32Array }[],
): Promise<number> {
  const set = rowSet('v', { id: 'text', embedding: 'vector' }, vectors);
  return database.execute(sql`
    update ${rawSql(kind)} c set embedding = r.embedding, embedding_model = ${model}
    from (select ${set.select} from ${set.from}) as r (${set.names})
    where c.id = r.id and c.embedding_model is distinct from ${model}`);
}

/** A document that is found by its words, and whose vectors this worker may make until its lease ends. */
export interface WordedDocument extends Pick<
  ClaimedDocument,
  'id' | 'revision' | 'type' | 'attempts' | 'lostWorkers' | 'redrives' | 'dreaming'
> {
  status: 'embedding' | 'indexing';
}

export interface VectorClaim {
  /** At the most. */
  documents: number;
  /** As many documents as have so many chunks together, but one in any case. */
  chunks: number;
  leaseToken: string;
  now: Date;
  leaseUntil: Date;
}

/** That of the index `documents_without_vectors`: what is long keeps nothing waiting, what is new comes first. */
const inOrder = rawSql('(cardinality(d.chunk_starts) > 16), d.next_attempt_at desc, d.id');

/** As `claimDocuments`, with its leases and its care for documents that workers were lost with. */
export async function claimForVectors(database: Queryable, claim: VectorClaim): Promise<WordedDocument[]> {
  const isDue = sql`${lacksVectors} and next_attempt_at <= ${claim.now}`;
  return database.query<WordedDocument>(sql`
    with first as materialized (
      select id, lost_workers, cardinality(chunk_starts) as chunks from documents d where ${isDue}
      order by ${inOrder} limit 1 for update skip locked
    ), others as materialized (
      select id, chunk_starts, next_attempt_at from documents d
      where ${isDue} and lost_workers < ${suspectAfter} and id not in (select id from first)
        and not exists (select from first where lost_workers >= ${suspectAfter})
      order by ${inOrder} limit ${claim.documents - 1} for update skip locked
    ), summed as (
      select id, sum(cardinality(chunk_starts)) over (order by ${inOrder}) as chunks from others d
    ), due as (
      select id from first
      union all
      select id from summed where chunks + (select chunks from first) <= ${claim.chunks}
    )
    update documents d
    set status = case d.status when 'indexing' then 'indexing' else 'embedding' end,
      lost_workers = d.lost_workers + case when d.lease_token is null then 0 else 1 end,
      lease_token = ${claim.leaseToken}, next_attempt_at = ${claim.leaseUntil}
    from due where d.id = due.id
    returning d.id, d.revision, d.status, d.type, d.attempts, d.lost_workers as "lostWorkers", d.redrives, d.dreaming`);
}

export interface ChunkWithoutVector {
  id: string;
  documentId: string;
  context: string | null;
  content: string;
}

/** Chunks of documents that have no vector of the model, those of one document after the other; at most `limit`. */
export async function chunksWithoutVector(
  database: Queryable,
  documentIds: readonly string[],
  model: string,
  limit: number,
): Promise<ChunkWithoutVector[]> {
  return database.query<ChunkWithoutVector>(sql`
    select id, document_id as "documentId", context, content from chunks
    where document_id = any(${documentIds}::text[]) and embedding_model is distinct from ${model}
    order by document_id, position limit ${limit}`);
}

/** Those of the documents all of whose chunks have a vector of the model. */
export async function documentsWithVectors(
  database: Queryable,
  documentIds: readonly string[],
  model: string,
): Promise<Set<string>> {
  const rows = await database.query<{ id: string }>(sql`
    select id from unnest(${documentIds}::text[]) as d(id)
    where not exists (select 1 from chunks c where c.document_id = d.id and c.embedding_model is distinct from ${model})`);
  return new Set(rows.map(({ id }) => id));
}

/** Gives chunks of the documents the vectors that equal texts in the store have already. Answers how many. */
export async function adoptVectors(
  database: Queryable,
  documentIds: readonly string[],
  model: string,
): Promise<number> {
  return database.execute(sql`
    update chunks c set embedding = equal.embedding, embedding_model = ${model}
    from chunks w cross join lateral (
      select o.embedding from chunks o where o.content_hash = w.content_hash and o.embedding_model = ${model} limit 1) equal
    where w.document_id = any(${documentIds}::text[]) and w.embedding_model is distinct from ${model}
      and c.id = w.id and c.embedding_model is distinct from ${model}`);
}

/** Documents that are found by their words alone: their vectors are still to be made. */
export async function countFoundByWords(database: Queryable, tags: readonly string[] | null): Promise<number> {
  const row = firstOf(
    await database.query<{ count: number }>(sql`
    select count(*) as count from documents d where ${lacksVectors} and ${inContainers(rawSql('d.container_tag'), tags)}`),
  );
  return row.count;
}
