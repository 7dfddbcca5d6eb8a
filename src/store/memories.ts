import type { Queryable, Transaction } from './database.ts';
import { rowSet, type Columns } from './row-set.ts';
import { rawSql, sql } from './sql.ts';

export interface MemoryWrite {
  id: string;
  container_tag: string;
  memory: string;
  metadata: Record<string, unknown> | null;
  temporal_context: Record<string, unknown> | null;
  kind: string | null;
  subject: string | null;
  slot: string | null;
  slot_value: string | null;
  buckets: readonly string[];
  is_static: boolean;
  is_inference: boolean;
  is_latest: boolean;
  version: number;
  parent_memory_id: string | null;
  root_memory_id: string | null;
  forget_after: Date | null;
  forget_reason: string | null;
  extractor: string | null;
  content_hash: string;
  terms: readonly string[];
  term_counts: readonly number[];
  term_total: number;
  embedding: Float32Array;
  embedding_model: string;
}

const memoryColumns: Columns<Omit<MemoryWrite, 'buckets'>> = {
  id: 'text',
  container_tag: 'text',
  memory: 'text',
  metadata: 'jsonb',
  temporal_context: 'jsonb',
  kind: 'text',
  subject: 'text',
  slot: 'text',
  slot_value: 'text',
  is_static: 'boolean',
  is_inference: 'boolean',
  is_latest: 'boolean',
  version: 'integer',
  parent_memory_id: 'text',
  root_memory_id: 'text',
  forget_after: 'timestamptz',
  forget_reason: 'text',
  extractor: 'text',
  content_hash: 'text',
  terms: 'words',
  term_counts: 'smallint[]',
  term_total: 'integer',
  embedding: 'vector',
  embedding_model: 'text',
};

export async function insertMemories(tx: Transaction, rows: readonly MemoryWrite[], now: Date): Promise<void> {
  if (rows.length === 0) return;
  const set = rowSet('r', memoryColumns, rows);
  await tx.execute(sql`
    insert into memories (${set.names}, created_at, updated_at)
    select ${set.select}, ${now}::timestamptz, ${now}::timestamptz from ${set.from}`);
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

/** A stored memory as new statements are compared with it. */
export interface KnownMemory {
  id: string;
  containerTag: string;
  memory: string;
  subject: string | null;
  slot: string | null;
  value: string | null;
  contentHash: string;
  terms: string[];
  version: number;
  parentMemoryId: string | null;
  rootMemoryId: string | null;
  isLatest: boolean;
  isForgotten: boolean;
  forgetReason: string | null;
  extractor: string | null;
  documentDate: string | null;
  createdAt: Date;
  documentIds: string[];
  /** Of each of its documents, overlaid by its own; empty unless it was asked for. */
  metadata: Record<string, unknown>[];
}

export interface ComparedWith {
  containerTags: readonly string[];
  subjects: readonly string[];
  hashes: readonly string[];
  documentIds: readonly string[];
  withMetadata: boolean;
}

const metadataOfSources = `coalesce((select jsonb_agg(d.metadata || coalesce(m.metadata, '{}'))
    from memory_sources s join documents d on d.id = s.document_id where s.memory_id = m.id), '[]')`;

/** Latest memories with one of the subjects or texts, and every one from the documents. */
export async function knownMemories(
  tx: Queryable,
  { containerTags, subjects, hashes, documentIds, withMetadata }: ComparedWith,
): Promise<KnownMemory[]> {
  const metadata = rawSql(withMetadata ? metadataOfSources : "'[]'::jsonb");
  return tx.query<KnownMemory>(sql`
    with ids as (
      select id from memories where container_tag = any(${containerTags}::text[]) and subject = any(${subjects}::text[])
        and is_latest and not is_forgotten
      union
      select id from memories where container_tag = any(${containerTags}::text[]) and content_hash = any(${hashes}::text[])
        and is_latest
      union
      select memory_id from memory_sources where document_id = any(${documentIds}::text[])
    )
    select m.id, m.container_tag as "containerTag", m.memory, m.subject, m.slot, m.slot_value as value,
      m.content_hash as "contentHash", m.terms, m.version, m.parent_memory_id as "parentMemoryId",
      m.root_memory_id as "rootMemoryId", m.is_latest as "isLatest", m.is_forgotten as "isForgotten",
      m.forget_reason as "forgetReason", m.extractor, m.temporal_context ->> 'documentDate' as "documentDate",
      m.created_at as "createdAt",
      coalesce((select array_agg(s.document_id) from memory_sources s where s.memory_id = m.id), '{}') as "documentIds",
      ${metadata} as metadata
    from memories m where m.id in (select id from ids)
    order by m.created_at, m.id`);
}

export interface MemorySource {
  memory_id: string;
  document_id: string;
  span: { start: number; end: number } | null;
}

export async function addSources(tx: Transaction, rows: readonly MemorySource[], now: Date): Promise<void> {
  if (rows.length === 0) return;
  const set = rowSet('r', { memory_id: 'text', document_id: 'text', span: 'jsonb' }, rows);
  await tx.execute(sql`
    insert into memory_sources (${set.names}, created_at) select ${set.select}, ${now}::timestamptz from ${set.from}
    on conflict (memory_id, document_id) do update set span = excluded.span`);
}

export async function removeSources(
  tx: Transaction,
  rows: readonly { memory_id: string; document_id: string }[],
): Promise<void> {
  if (rows.length === 0) return;
  const set = rowSet('r', { memory_id: 'text', document_id: 'text' }, rows);
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
  from_id: string;
  to_id: string;
  relation: 'updates' | 'extends' | 'derives';
}

export async function addRelations(tx: Transaction, rows: readonly RelationWrite[], now: Date): Promise<void> {
  if (rows.length === 0) return;
  const set = rowSet('r', { from_id: 'text', to_id: 'text', relation: 'text' }, rows);
  await tx.execute(sql`
    insert into memory_relations (${set.names}, created_at) select ${set.select}, ${now}::timestamptz from ${set.from}
    on conflict do nothing`);
}

export async function supersede(tx: Transaction, ids: readonly string[], now: Date): Promise<void> {
  if (ids.length === 0) return;
  await tx.execute(sql`
    update memories set is_latest = false, updated_at = ${now} where id = any(${ids}::text[]) and is_latest`);
}

export async function setForgotten(
  tx: Queryable,
  ids: readonly string[],
  options: { forgotten: boolean; reason: string | null; batchId?: string; now: Date },
): Promise<void> {
  if (ids.length === 0) return;
  await tx.execute(sql`
    update memories set is_forgotten = ${options.forgotten}, forget_reason = ${options.reason},
      forget_batch_id = ${options.batchId ?? null}, updated_at = ${options.now}
    where id = any(${ids}::text[])`);
}

/** Writes down that memories whose time has come are forgotten. Answers how many; less than `limit`: no more. */
export function forgetExpired(database: Queryable, now: Date, limit: number): Promise<number> {
  return database.execute(sql`
    update memories set is_forgotten = true, forget_reason = coalesce(forget_reason, 'expired'), updated_at = ${now}
    where id in (
      select id from memories where not is_forgotten and forget_after <= ${now}
      order by forget_after limit ${limit} for update skip locked)`);
}

/** Where the newest version of a fact was deleted, the newest that is left counts again. */
export async function restoreLatest(tx: Transaction, roots: readonly string[]): Promise<void> {
  if (roots.length === 0) return;
  await tx.execute(sql`
    update memories m set is_latest = true
    from (
      select distinct on (coalesce(v.root_memory_id, v.id)) v.id, v.is_latest
      from memories v where v.id = any(${roots}::text[]) or v.root_memory_id = any(${roots}::text[])
      order by coalesce(v.root_memory_id, v.id), v.version desc
    ) newest
    where m.id = newest.id and not newest.is_latest`);
}

export const chainOf = rawSql('coalesce(m.root_memory_id, m.id)');
