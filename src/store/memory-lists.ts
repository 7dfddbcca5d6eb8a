import type { Database, Queryable, Transaction } from './database.ts';
import { isOnlyFromHidden } from './hidden-documents.ts';
import { sql, joinSql, rawSql, type Sql } from './sql.ts';
import { compileFilter, filterable, type Filter } from './filters.ts';
import { chainOf, type MemoryRow } from './memories.ts';
import { firstSources, type MemorySource } from './memory-sources.ts';

const columns = rawSql(`m.id, m.container_tag as "containerTag", m.memory, m.metadata,
  m.temporal_context as "temporalContext", m.kind, m.category, m.author, m.trust, m.said_at as "saidAt", m.buckets, m.is_static as "isStatic",
  m.is_inference as "isInference", m.is_latest as "isLatest", m.is_forgotten as "isForgotten", m.version,
  m.parent_memory_id as "parentMemoryId", m.root_memory_id as "rootMemoryId", m.forget_after as "forgetAfter",
  m.forget_reason as "forgetReason", m.created_at as "createdAt", m.updated_at as "updatedAt"`);

/** On a memory `m`: the relations to others, by their ids. */
const relations = rawSql(
  '(select jsonb_object_agg(r.to_id, r.relation) from memory_relations r where r.from_id = m.id)',
);

/** On a memory `m`: how many documents say it that are not hidden. */
const sourceCount = rawSql(`(select count(*) from memory_sources s join documents d on d.id = s.document_id
    where s.memory_id = m.id and d.deleted_at is null)`);

export interface MemoryNarrowing {
  containerTags: readonly string[];
  filters?: Filter | undefined;
  includeForgotten: boolean;
  /** Only what was known at this time, forgotten since or not. */
  asOf?: Date | undefined;
  now: Date;
}

/** On a memory `m`: the newest version of what is known, and not only from hidden documents. */
function visible({ containerTags, filters, includeForgotten, asOf, now }: MemoryNarrowing): Sql {
  const conditions = [
    sql`m.container_tag = any(${containerTags}::text[])`,
    ...(asOf ? [knownAt(asOf)] : [sql`m.is_latest and not ${isOnlyFromHidden}`]),
  ];
  if (!includeForgotten && !asOf) {
    conditions.push(sql`not m.is_forgotten and (m.forget_after is null or m.forget_after > ${now}::timestamptz)`);
  }
  if (filters) conditions.push(matchesMemory(filters));
  return joinSql(conditions, ' and ');
}

/** On a memory `m`, section 8 rule 10 of the API: a source's metadata, overlaid by the memory's own. */
export function matchesMemory(filters: Filter): Sql {
  const overlaid = sql`(${filterable} || coalesce(m.metadata, '{}'))`;
  return sql`(exists (select 1 from memory_sources s join documents d on d.id = s.document_id
      where s.memory_id = m.id and d.deleted_at is null and ${compileFilter(filters, overlaid)})
    or ${compileFilter(filters, rawSql('m.metadata'))}
      and not exists (select 1 from memory_sources s where s.memory_id = m.id))`;
}

export interface MemoryHistoryRow {
  id: string;
  memory: string;
  version: number;
  createdAt: string;
  updatedAt: string;
  parentMemoryId: string | null;
  rootMemoryId: string | null;
  isLatest: boolean;
  isForgotten: boolean;
}

export interface ListedMemoryRow extends MemoryRow {
  spaceId: string;
  sourceCount: number;
  documentIds: string[];
  sources: MemorySource[];
  memoryRelations: Record<string, string> | null;
  history: MemoryHistoryRow[];
}

export interface MemoryPage extends MemoryNarrowing {
  sort: 'createdAt' | 'updatedAt';
  order: 'asc' | 'desc';
  limit: number;
  page: number;
}

export async function listMemories(
  database: Queryable,
  page: MemoryPage,
): Promise<{ memories: ListedMemoryRow[]; total: number }> {
  const direction = page.order === 'asc' ? 'asc' : 'desc';
  const column = page.sort === 'createdAt' ? 'created_at' : 'updated_at';
  const order = (alias: string) => rawSql(`${alias}.${column} ${direction}, ${alias}.id ${direction}`);
  const where = visible(page);
  const [counted] = await database.query<{ total: number }>(
    sql`select count(*) as total from memories m where ${where}`,
  );
  const memories = await database.query<ListedMemoryRow>(sql`
    with listed as materialized (
      select m.id from memories m where ${where}
      order by ${order('m')} limit ${page.limit} offset ${(page.page - 1) * page.limit}
    )
    select ${columns}, c.id as "spaceId", cardinality(sources.ids) as "sourceCount", sources.ids as "documentIds",
      ${firstSources} as sources,
      ${relations} as "memoryRelations",
      coalesce((select jsonb_agg(jsonb_build_object('id', h.id, 'memory', h.memory, 'version', h.version,
          'createdAt', h.created_at, 'updatedAt', h.updated_at, 'parentMemoryId', h.parent_memory_id,
          'rootMemoryId', h.root_memory_id, 'isLatest', h.is_latest, 'isForgotten', h.is_forgotten) order by h.version desc)
        from memories h where (h.id = m.root_memory_id or h.root_memory_id = m.root_memory_id) and h.id <> m.id), '[]') as history
    from listed join memories m on m.id = listed.id join container_tags c on c.tag = m.container_tag
      cross join lateral (
        select coalesce(array_agg(s.document_id order by s.created_at, s.document_id), '{}') as ids
        from memory_sources s join documents d on d.id = s.document_id where s.memory_id = m.id and d.deleted_at is null
      ) sources
    order by ${order('m')}`);
  return { memories, total: counted?.total ?? 0 };
}

/** A memory with its place among others, as graphs show it. */
export interface MemoryEntry extends MemoryRow {
  documentId: string;
  /** Id of the container. */
  spaceId: string;
  /** By the id of the other memory: `updates`, `extends` or `derives`. */
  memoryRelations: Record<string, string> | null;
  sourceCount: number;
}

/** Of documents, oldest first; a memory of two of them is there twice. */
export function memoryEntries(database: Queryable, documentIds: readonly string[]): Promise<MemoryEntry[]> {
  return database.query<MemoryEntry>(sql`
    select ${columns}, o.document_id as "documentId", c.id as "spaceId", ${relations} as "memoryRelations",
      ${sourceCount} as "sourceCount"
    from memory_sources o join memories m on m.id = o.memory_id join container_tags c on c.tag = m.container_tag
    where o.document_id = any(${documentIds}::text[])
    order by m.created_at, m.id`);
}

export interface MemoryOfDocumentRow extends MemoryRow {
  sourceCount: number;
}

export async function memoriesOfDocument(database: Queryable, documentId: string): Promise<MemoryOfDocumentRow[]> {
  return database.query(sql`
    select ${columns}, ${sourceCount} as "sourceCount"
    from memory_sources o join memories m on m.id = o.memory_id
    where o.document_id = ${documentId}
    order by m.created_at, m.id`);
}

export type CitedMemoryRow = MemoryRow & { sources: MemorySource[] };

/** These memories with where they come from, newest first. */
export function citedMemories(database: Queryable, ids: readonly string[]): Promise<CitedMemoryRow[]> {
  if (ids.length === 0) return Promise.resolve([]);
  return database.query<CitedMemoryRow>(sql`
    select ${columns}, ${firstSources} as sources from memories m where m.id = any(${ids}::text[])
    order by m.created_at desc, m.id desc`);
}

export interface ProfileQuery extends Omit<MemoryNarrowing, 'includeForgotten'> {
  /** The most of each kind. */
  most: { static: number; dynamic: number; bucket: number };
  buckets: readonly string[];
}

export interface ProfileLine {
  id: string;
  memory: string;
}

/** On a memory `m`: a fact that was told, is the owner's own, or was read where the owner lets it into profiles. */
const isOfProfile = rawSql(`m.kind = 'fact' and (m.trust <> 'read' or exists (
    select 1 from memory_sources s join documents d on d.id = s.document_id join connections c on c.id = d.connection_id
    where s.memory_id = m.id and d.deleted_at is null and c.in_profile))`);

/** The memories of a profile, newest first, each statement once. */
export async function profileMemories(
  database: Queryable,
  query: ProfileQuery,
): Promise<{ static: ProfileLine[]; dynamic: ProfileLine[]; buckets: Map<string, ProfileLine[]> }> {
  const rows = await database.query<ProfileLine & { section: string; bucket: string | null }>(sql`
    with current as materialized (
      select distinct on (coalesce(m.words_hash, m.content_hash)) m.memory, m.is_static, m.buckets, m.created_at, m.id
      from memories m where ${isOfProfile} and ${visible({ ...query, includeForgotten: false })}
      order by coalesce(m.words_hash, m.content_hash), m.is_static desc, m.trust = 'read', m.created_at desc, m.id desc
    ), sections as (
      (select 'static' as section, null as bucket, memory, created_at, id from current where is_static
        order by created_at desc, id desc limit ${query.most.static})
      union all
      (select 'dynamic', null, memory, created_at, id from current where not is_static
        order by created_at desc, id desc limit ${query.most.dynamic})
      union all
      (select 'bucket', wanted.key, best.memory, best.created_at, best.id
        from unnest(${query.buckets}::text[]) as wanted(key) cross join lateral (
          select memory, created_at, id from current where wanted.key = any(current.buckets)
          order by created_at desc, id desc limit ${query.most.bucket}) best)
    )
    select section, bucket, memory, id from sections order by created_at desc, id desc`);
  const of = (section: string, bucket: string | null = null) =>
    rows.filter((row) => row.section === section && row.bucket === bucket).map(({ id, memory }) => ({ id, memory }));
  const buckets = new Map(query.buckets.map((key) => [key, of('bucket', key)]));
  return { static: of('static'), dynamic: of('dynamic'), buckets };
}

/** The newest version of the chain that an id belongs to, locked. */
export async function lockById(tx: Transaction, containerTag: string, id: string): Promise<MemoryRow | null> {
  const [memory] = await tx.query<MemoryRow>(sql`
    select ${columns} from memories m
    where m.container_tag = ${containerTag} and m.is_latest and ${chainOf} = (
      select ${chainOf} from memories m where m.id = ${id} and m.container_tag = ${containerTag})
    order by m.version desc limit 1 for update`);
  return memory ?? null;
}

/** Any version, forgotten or not, unless all of its documents are hidden. */
export async function findMemoryById(database: Queryable, containerTag: string, id: string): Promise<MemoryRow | null> {
  const [memory] = await database.query<MemoryRow>(sql`
    select ${columns} from memories m
    where m.id = ${id} and m.container_tag = ${containerTag} and not ${isOnlyFromHidden}`);
  return memory ?? null;
}

/** The newest versions of the chains that ids belong to, by these ids. `isForgotten`: or expired. */
export function latestOfChains(
  tx: Transaction,
  containerTag: string,
  ids: readonly string[],
  now: Date,
): Promise<{ namedId: string; id: string; memory: string; isForgotten: boolean }[]> {
  return tx.query(sql`
    with named as materialized (
      select m.id, ${chainOf} as root from memories m
      where m.container_tag = ${containerTag} and m.id = any(${ids}::text[]) and not ${isOnlyFromHidden})
    select distinct on (named.id) named.id as "namedId", m.id, m.memory,
      coalesce(m.is_forgotten or m.forget_after <= ${now}::timestamptz, false) as "isForgotten"
    from named join memories m on ${chainOf} = named.root and m.container_tag = ${containerTag} and m.is_latest
    order by named.id, m.version desc`);
}

/** The newest latest memory with just this text; one that is not forgotten before one that is. Locked. */
export async function lockByText(
  tx: Transaction,
  containerTag: string,
  text: string,
  contentHash: string,
): Promise<MemoryRow | null> {
  const [memory] = await tx.query<MemoryRow>(sql`
    select ${columns} from memories m
    where m.container_tag = ${containerTag} and m.content_hash = ${contentHash} and m.memory = ${text} and m.is_latest
    order by m.is_forgotten, m.created_at desc, m.id desc limit 1 for update`);
  return memory ?? null;
}

/** Latest, unforgotten memories with these texts, locked; the newest of each. */
export function lockByHashes(
  tx: Transaction,
  containerTag: string,
  hashes: readonly string[],
  now: Date,
): Promise<(MemoryRow & { contentHash: string })[]> {
  return tx.query(sql`
    select ${columns}, m.content_hash as "contentHash" from memories m
    where m.container_tag = ${containerTag} and m.content_hash = any(${hashes}::text[]) and m.is_latest
      and not m.is_forgotten and (m.forget_after is null or m.forget_after > ${now})
    order by m.created_at, m.id for update`);
}

/** Of these ids, those that are latest in the container and not forgotten. */
export function findCurrent(
  database: Queryable,
  containerTag: string,
  ids: readonly string[],
): Promise<{ id: string; memory: string }[]> {
  return database.query(sql`
    select m.id, m.memory from memories m
    where m.container_tag = ${containerTag} and m.id = any(${ids}::text[]) and m.is_latest and not m.is_forgotten
      and not ${isOnlyFromHidden}
    order by m.created_at desc, m.id desc`);
}

export async function mergeMetadata(
  tx: Transaction,
  rows: readonly { id: string; metadata: Record<string, unknown> }[],
  now: Date,
): Promise<void> {
  if (rows.length === 0) return;
  await tx.execute(sql`
    update memories m set metadata = coalesce(m.metadata, '{}') || r.metadata, updated_at = ${now}
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as r(id text, metadata jsonb) where m.id = r.id`);
}

/**
 * On a memory `m`: it was known at a time, as the newest version of what was known then. What was forgotten,
 * had expired, had been replaced or was not stored yet is left out.
 */
function knownAt(asOf: Date): Sql {
  const at = sql`${asOf}::timestamptz`;
  return sql`(m.created_at <= ${at} and (m.superseded_at is null or m.superseded_at > ${at})
    and (m.forgotten_at is null or m.forgotten_at > ${at}) and (m.forget_after is null or m.forget_after > ${at})
    and not exists (
      select 1 from memories v where v.root_memory_id = coalesce(m.root_memory_id, m.id) and v.version > m.version
        and v.created_at <= ${at} and (v.forgotten_at is null or v.forgotten_at > ${at})))`;
}

/** A memory that was concluded from others and that nobody has judged yet. */
export interface InferredMemory extends Pick<MemoryRow, 'id' | 'memory' | 'metadata' | 'createdAt' | 'updatedAt'> {
  /** Memories that it was concluded from. */
  parentCount: number;
}

/** Those of a container, the best founded first. */
export async function inferredMemories(
  database: Queryable,
  containerTag: string,
  limit: number,
): Promise<{ memories: InferredMemory[]; total: number }> {
  const rows = await database.query<InferredMemory & { total: number }>(sql`
    select m.id, m.memory, m.metadata, m.created_at as "createdAt", m.updated_at as "updatedAt",
      (select count(*) from memory_relations r where r.from_id = m.id and r.relation = 'derives') as "parentCount",
      count(*) over () as total
    from memories m
    where m.container_tag = ${containerTag} and m.is_inference and m.is_latest and not m.is_forgotten
      and m.review_status is null and not ${isOnlyFromHidden}
    order by "parentCount" desc, m.created_at desc, m.id
    limit ${limit}`);
  return { memories: rows.map(({ total: _, ...row }) => row), total: rows[0]?.total ?? 0 };
}

export interface ReviewedMemory {
  id: string;
  isInference: boolean;
  isForgotten: boolean;
  reviewStatus: 'approved' | 'declined' | null;
}

export async function lockReviewed(tx: Transaction, containerTag: string, id: string): Promise<ReviewedMemory | null> {
  const rows = await tx.query<ReviewedMemory>(sql`
    select id, is_inference as "isInference", is_forgotten as "isForgotten", review_status as "reviewStatus"
    from memories where id = ${id} and container_tag = ${containerTag} for update`);
  return rows[0] ?? null;
}

export async function writeReviewed(
  tx: Pick<Database, 'execute'>,
  memory: ReviewedMemory,
  { forgetReason, now }: { forgetReason: string | null; now: Date },
): Promise<void> {
  await tx.execute(sql`
    update memories set is_inference = ${memory.isInference}, is_forgotten = ${memory.isForgotten},
      forgotten_by = ${memory.isForgotten ? 'caller' : null}, forgotten_at = ${memory.isForgotten ? now : null},
      review_status = ${memory.reviewStatus}, forget_reason = ${forgetReason}, updated_at = ${now}
    where id = ${memory.id}`);
}
