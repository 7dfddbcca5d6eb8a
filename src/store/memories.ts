import type { Queryable, Transaction } from './database.ts';
import { rowSet, type Columns, rawSql, sql } from './sql.ts';
import { noteLanguages } from './text-languages.ts';

/** The metadata of a memory `m` as it is shown: with its dates (section 10.4 rule 6 of the API). Null without both. */
export const shownMetadata = rawSql(`case when m.temporal_context is null then m.metadata
    else coalesce(m.metadata, '{}') || jsonb_build_object('temporalContext', m.temporal_context) end`);

export interface MemoryRow {
  id: string;
  containerTag: string;
  memory: string;
  metadata: Record<string, unknown> | null;
  temporalContext: { documentDate?: string | null; eventDate?: string[] | null } | null;
  kind: 'fact' | 'episode';
  category: string | null;
  author: string | null;
  trust: 'told' | 'own' | 'read';
  saidAt: Date | null;
  buckets: string[];
  isStatic: boolean;
  isInference: boolean;
  isLatest: boolean;
  isForgotten: boolean;
  version: number;
  parentMemoryId: string | null;
  rootMemoryId: string | null;
  forgetAfter: Date | null;
  forgetReason: string | null;
  createdAt: Date;
  updatedAt: Date;
}

export interface MemoryWrite extends Omit<MemoryRow, 'buckets' | 'isForgotten' | 'createdAt' | 'updatedAt'> {
  subject: string | null;
  slot: string | null;
  slotValue: string | null;
  buckets: readonly string[];
  extractor: string | null;
  contentHash: string;
  wordsHash: string;
  terms: readonly string[];
  termCounts: readonly number[];
  termTotal: number;
  /** Whose stems are among the terms. */
  languages: readonly string[];
  embedding: Float32Array;
  embeddingModel: string;
}

const memoryColumns: Columns<Omit<MemoryWrite, 'buckets' | 'languages'>> = {
  id: 'text',
  containerTag: 'text',
  memory: 'text',
  metadata: 'jsonb',
  temporalContext: 'jsonb',
  kind: 'text',
  category: 'text',
  author: 'text',
  trust: 'text',
  saidAt: 'timestamptz',
  subject: 'text',
  slot: 'text',
  slotValue: 'text',
  isStatic: 'boolean',
  isInference: 'boolean',
  isLatest: 'boolean',
  version: 'integer',
  parentMemoryId: 'text',
  rootMemoryId: 'text',
  forgetAfter: 'timestamptz',
  forgetReason: 'text',
  extractor: 'text',
  contentHash: 'text',
  wordsHash: 'text',
  terms: 'words',
  termCounts: 'smallint[]',
  termTotal: 'integer',
  embedding: 'vector',
  embeddingModel: 'text',
};

export async function insertMemories(tx: Transaction, rows: readonly MemoryWrite[], now: Date): Promise<void> {
  if (rows.length === 0) return;
  const set = rowSet('r', memoryColumns, rows);
  await tx.execute(sql`
    insert into memories (${set.names}, created_at, updated_at)
    select ${set.select}, ${now}::timestamptz, ${now}::timestamptz from ${set.from}`);
  await noteLanguages(tx, rows);
  const sorted = rows.flatMap(({ id, buckets }) => buckets.map((bucket) => ({ id, bucket })));
  if (sorted.length === 0) return;
  const buckets = rowSet('b', { id: 'text', bucket: 'text' }, sorted);
  await tx.execute(sql`
    update memories m set buckets = g.buckets
    from (select b.id, array_agg(b.bucket) as buckets from ${buckets.from} group by b.id) g where m.id = g.id`);
}

/** Writers of one container's memories wait for each other, so that each sees what the other has found. */
export async function lockMemoriesOf(tx: Transaction, containerTags: readonly string[]): Promise<void> {
  for (const tag of [...new Set(containerTags)].sort()) {
    await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${`memories ${tag}`}, 0))`);
  }
}

export interface MemorySource {
  memoryId: string;
  documentId: string;
  span: { start: number; end: number } | null;
}

export async function addSources(tx: Transaction, rows: readonly MemorySource[], now: Date): Promise<void> {
  if (rows.length === 0) return;
  const set = rowSet('r', { memoryId: 'text', documentId: 'text', span: 'jsonb' }, rows);
  await tx.execute(sql`
    insert into memory_sources (${set.names}, created_at) select ${set.select}, ${now}::timestamptz from ${set.from}
    on conflict (memory_id, document_id) do update set span = excluded.span`);
}

export async function removeSources(
  tx: Transaction,
  rows: readonly { memoryId: string; documentId: string }[],
): Promise<void> {
  if (rows.length === 0) return;
  const set = rowSet('r', { memoryId: 'text', documentId: 'text' }, rows);
  await tx.execute(sql`
    delete from memory_sources s using ${set.from} where s.memory_id = r.memory_id and s.document_id = r.document_id`);
}

/** A new version has the sources of the one before. */
export async function copySources(tx: Transaction, from: string, to: string): Promise<void> {
  await tx.execute(sql`
    insert into memory_sources (memory_id, document_id, span, created_at)
    select ${to}, document_id, span, created_at from memory_sources where memory_id = ${from}`);
}

export interface RelationWrite {
  fromId: string;
  toId: string;
  relation: 'updates' | 'extends' | 'derives';
}

export async function addRelations(tx: Transaction, rows: readonly RelationWrite[], now: Date): Promise<void> {
  if (rows.length === 0) return;
  const set = rowSet('r', { fromId: 'text', toId: 'text', relation: 'text' }, rows);
  await tx.execute(sql`
    insert into memory_relations (${set.names}, created_at) select ${set.select}, ${now}::timestamptz from ${set.from}
    on conflict do nothing`);
}

export async function supersede(tx: Transaction, ids: readonly string[], now: Date): Promise<void> {
  if (ids.length === 0) return;
  await tx.execute(sql`
    update memories set is_latest = false, superseded_at = ${now}, updated_at = ${now} where id = any(${ids}::text[]) and is_latest`);
}

export interface Forgetting {
  by: 'caller' | 'source';
  reason: string | null;
  batchId?: string;
}

export async function forgetMemories(
  tx: Queryable,
  ids: readonly string[],
  { by, reason, batchId }: Forgetting,
  now: Date,
): Promise<void> {
  if (ids.length === 0) return;
  await tx.execute(sql`
    update memories set is_forgotten = true, forgotten_by = ${by}, forget_reason = ${reason}, forgotten_at = ${now},
      forget_batch_id = ${batchId ?? null}, updated_at = ${now}
    where id = any(${ids}::text[])`);
}

/** Of what was forgotten because its source was gone. */
export async function reviveMemories(tx: Queryable, ids: readonly string[], now: Date): Promise<void> {
  if (ids.length === 0) return;
  await tx.execute(sql`
    update memories set is_forgotten = false, forgotten_by = null, forget_reason = null, forgotten_at = null, updated_at = ${now}
    where id = any(${ids}::text[])`);
}

/** Moves the time at which statements were last made, for those that are repeated later. */
export async function restateMemories(tx: Queryable, rows: readonly { id: string; saidAt: Date }[]): Promise<void> {
  if (rows.length === 0) return;
  const set = rowSet('r', { id: 'text', saidAt: 'timestamptz' }, rows);
  await tx.execute(sql`
    update memories m set said_at = r.said_at from ${set.from} where m.id = r.id and m.said_at < r.said_at`);
}

/** Writes down that memories whose time has come are forgotten. Answers how many; less than `limit`: no more. */
export function forgetExpired(database: Queryable, now: Date, limit: number): Promise<number> {
  return database.execute(sql`
    update memories set is_forgotten = true, forgotten_by = 'time', forgotten_at = forget_after, forget_reason = coalesce(forget_reason, 'expired'), updated_at = ${now}
    where id in (
      select id from memories where not is_forgotten and forget_after <= ${now}
      order by forget_after limit ${limit} for update skip locked)`);
}

export const chainOf = rawSql('coalesce(m.root_memory_id, m.id)');

/** A fact as it is shown to a language model, to compare others with it. */
export interface NearMemory {
  id: string;
  memory: string;
  subject: string | null;
  slot: string | null;
  value: string | null;
  contentHash: string;
  trust: 'told' | 'own' | 'read';
  /** Cosine. */
  similarity: number;
}

interface Nearest {
  containerTag: string;
  trusts: readonly NearMemory['trust'][];
  embeddingModel: string;
  vectors: readonly Float32Array[];
  /** Of each vector. */
  limit: number;
  now: Date;
}

/** The current facts of a container that are nearest to each vector, nearest first, in the order of the vectors. */
export async function nearestMemories(database: Queryable, nearest: Nearest): Promise<NearMemory[][]> {
  const { containerTag, trusts, embeddingModel, vectors, limit, now } = nearest;
  if (vectors.length === 0) return [];
  const rows = vectors.map((embedding, place) => ({ place, embedding }));
  const set = rowSet('v', { place: 'integer', embedding: 'vector' }, rows);
  const found = await database.query<NearMemory & { place: number }>(sql`
    select v.place, n.*
    from (select ${set.select} from ${set.from}) v(place, embedding)
    cross join lateral (
      select m.id, m.memory, m.subject, m.slot, m.slot_value as value, m.content_hash as "contentHash", m.trust,
        1 - (m.embedding <=> v.embedding) as similarity
      from memories m
      where m.container_tag = ${containerTag} and m.kind = 'fact' and m.trust = any(${trusts}::text[])
        and m.embedding_model = ${embeddingModel} and m.is_latest and not m.is_forgotten
        and (m.forget_after is null or m.forget_after > ${now})
      order by m.embedding <=> v.embedding, m.id limit ${limit}
    ) n
    order by v.place, similarity desc, n.id`);
  const byPlace = Map.groupBy(found, ({ place }) => place);
  return vectors.map((_, place) => byPlace.get(place) ?? []);
}

interface MemoryDocument {
  id: string;
  containerTag: string;
  title: string;
  content: string;
  contentHash: string;
  addedBy: string | null;
}

/** The source of memories that a caller wrote: done from the beginning, with a text and without chunks. */
export async function insertMemoryDocument(tx: Transaction, document: MemoryDocument, now: Date): Promise<void> {
  await tx.execute(sql`
    insert into documents (id, container_tag, status, task_type, type, source, title, content_hash, text_hash, added_by, created_at, updated_at)
    values (${document.id}, ${document.containerTag}, 'done', 'memory', 'text', 'memory', ${document.title},
      ${document.contentHash}, ${document.contentHash}, ${document.addedBy}, ${now}, ${now})`);
  await tx.execute(sql`
    insert into document_contents (document_id, kind, raw) values (${document.id}, 'text', ${document.content})`);
}
