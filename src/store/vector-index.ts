import { createHash } from 'node:crypto';
import { firstOf } from '../base/collections.ts';
import type { Clock } from '../base/clock.ts';
import { whileRenewing } from '../base/concurrency.ts';
import { newId } from '../base/ids.ts';
import type { Logger } from '../base/log.ts';
import type { Database, Queryable } from './database.ts';
import { isDiskFull, isOutOfMemory } from './database-errors.ts';
import { holdLease, releaseLease } from './leases.ts';
import { sql, type Sql, rawSql } from './sql.ts';
import type { EmbeddedKind } from './stored-vectors.ts';
import { mostResidentTexts } from './search/text-rows.ts';
import { textLiteral, vectorOf } from './search/candidates.ts';
import { isToBeRead, lacksVectors } from './processing.ts';

/**
 * The HNSW index over the vectors of the current model, of chunks or of memories. Searches are right
 * without it, only slower, so everything here may happen late, or be done again.
 */
export interface VectorIndex {
  /**
   * Makes what is there into what should be there: builds the index when there are vectors enough
   * and no bulk load is under way, removes it for a very large one, removes other models' indexes
   * and what interrupted builds left. Cheap when nothing is to be done; call it often. Resolves
   * when the work is done, but for a second caller meanwhile at once. An abort ends a build on
   * PostgreSQL (PGlite cannot stop).
   */
  ensure(signal?: AbortSignal): Promise<VectorIndexState>;
}

export type VectorIndexState =
  /** `absent`: too few vectors. `deferred`: a bulk load is under way. `unsupported`: too many dimensions. */
  'absent' | 'deferred' | 'building' | 'ready' | 'unsupported';

export interface VectorIndexOptions {
  database: Database;
  kind: EmbeddedKind;
  embedder: { readonly id: string; readonly dimensions: number };
  clock: Clock;
  log: Logger;
  /** From how many vectors on there is an index. Default 120,000 on PGlite; on PostgreSQL 10,000 chunks, 5,000 memories. */
  threshold?: number;
  /** Waiting documents and items that may be a bulk load. Default 2,000. */
  bulkDocuments?: number;
}

/** Below these, comparing all vectors takes less than inserting each into the index costs. */
const defaultThresholds = {
  // So many are compared in memory; and while an index is built, nothing else can be done, for a second per thousand.
  pglite: { chunks: mostResidentTexts.pglite, memories: mostResidentTexts.pglite },
  // A search of memories reads chunks beside them, so that each millisecond counts twice.
  postgres: { chunks: 10_000, memories: 5_000 },
} as const;
const defaultBulkDocuments = 2_000;
/** Inserting a vector takes about as long as building the index over three others. */
const bulkShare = 1 / 3;
/** pgvector indexes vectors up to here. */
const maxDimensions = 2_000;
const leadership = 'vector-index';
const leadershipMs = 60_000;
/** What the graph takes beside the vector itself, with room to spare; measured with pgvector 0.8 and `m` 16. */
const graphBytes = 750;
/** For building an index. All of a parallel build's memory is taken at its start. */
const buildMegabytes = { pglite: { least: 64, most: 256 }, postgres: { least: 256, most: 4_096 } } as const;
/** Looking costs a query or two; workers call after each batch. */
const restMs = 10_000;
const cancelAgainMs = 500;

interface Context extends Required<VectorIndexOptions> {
  name: string;
  holder: string;
}

export function createVectorIndex(options: VectorIndexOptions): VectorIndex {
  const { database, embedder, clock } = options;
  const context: Context = {
    threshold: defaultThresholds[database.engine][options.kind],
    bulkDocuments: defaultBulkDocuments,
    ...options,
    name: prefixOf(options.kind) + modelKey(embedder),
    holder: newId(clock.now()),
  };
  let last: { at: number; state: VectorIndexState } | undefined;
  let looking = false;

  return {
    async ensure(signal) {
      if (embedder.dimensions > maxDimensions) return 'unsupported';
      if (looking) return 'building';
      if (last && clock.now().getTime() - last.at < restMs) return last.state;
      looking = true;
      try {
        const state = await putRight(context, signal);
        last = { at: clock.now().getTime(), state };
        return state;
      } finally {
        looking = false;
      }
    },
  };
}

/** Stands for the model in the index's name, which may hold few characters. */
function modelKey({ id, dimensions }: VectorIndexOptions['embedder']): string {
  return createHash('sha256').update(`${id} ${dimensions}`).digest('hex').slice(0, 12);
}

async function putRight(context: Context, signal: AbortSignal | undefined): Promise<VectorIndexState> {
  const indexes = await readIndexes(context.database, context.kind);
  const own = indexes.find(({ name }) => name === context.name);
  const leftovers = indexes.filter((index) => !index.building && (index.name !== context.name || !index.valid));
  if (own?.building) return 'building';
  const wanted = await decide(context, own?.valid ? own : undefined);
  const done = wanted === 'ready' ? own?.valid === true : !own;
  if (done && leftovers.length === 0) return wanted;
  if (!(await lead(context))) return own?.valid ? 'ready' : 'deferred';
  try {
    for (const { name } of leftovers) await drop(context, name);
    if (wanted === 'deferred' && own?.valid) await drop(context, own.name);
    if (wanted === 'ready' && !own?.valid) return await build(context, signal);
    return wanted;
  } finally {
    await releaseLease(context.database, leadership, context.holder);
  }
}

/** Decides the state an index should have. An existing one stays, unless a bulk load makes dropping it worthwhile. */
async function decide(context: Context, own: StoredIndex | undefined): Promise<'absent' | 'deferred' | 'ready'> {
  const { database, embedder, clock, threshold, bulkDocuments } = context;
  const vectors = own?.vectors ?? (await countVectors(database, context.kind, embedder.id, threshold));
  if (!own && vectors < threshold) return 'absent';
  const worthWaiting = Math.max(bulkDocuments, Math.ceil(vectors * bulkShare));
  const waiting = await countWaiting(database, clock.now(), worthWaiting);
  return waiting >= worthWaiting ? 'deferred' : 'ready';
}

/** The embedded engine serves one process, so nobody else could lead. */
async function lead({ database, clock, holder }: Context): Promise<boolean> {
  if (database.engine === 'pglite') return true;
  const now = clock.now();
  return (
    (await holdLease(database, leadership, { holder, until: new Date(now.getTime() + leadershipMs), now })) !== null
  );
}

async function drop({ database, log }: Pick<Context, 'database' | 'log'>, name: string): Promise<void> {
  const concurrently = rawSql(database.engine === 'postgres' ? 'concurrently ' : '');
  await database.execute(sql`drop index ${concurrently}if exists ${rawSql(name)}`);
  log.info({ index: name }, 'vector index dropped');
}

async function build(context: Context, signal: AbortSignal | undefined): Promise<VectorIndexState> {
  if (signal?.aborted) return 'deferred';
  const { clock, log, name } = context;
  const started = clock.now().getTime();
  log.info({ index: name }, 'building the vector index');
  if (!(await runBuild(context, signal))) return 'deferred';
  log.info({ index: name, durationMs: clock.now().getTime() - started }, 'vector index built');
  return 'ready';
}

/**
 * On a server readers and writers go on meanwhile; on the embedded engine nothing else runs, for about a second per
 * thousand vectors. False when the signal ended it.
 */
async function runBuild(context: Context, signal: AbortSignal | undefined): Promise<boolean> {
  const { database, kind, name, embedder } = context;
  const statement = createIndexStatement(kind, name, embedder, database.engine === 'postgres');
  const memory = await buildMemory(context);
  if (database.engine === 'pglite') {
    await database.executeWith(memory, statement);
    return true;
  }
  const over = new AbortController();
  const cancelling = cancelOnAbort(context, statement, over.signal, signal);
  const renew = () => lead(context).catch(() => false);
  try {
    const parts = { clock: context.clock, everyMs: leadershipMs / 3, renew };
    await whileRenewing(parts, () => buildConcurrently(context, memory, statement));
    return true;
  } catch (error) {
    if (signal?.aborted) return false;
    throw error;
  } finally {
    over.abort();
    await cancelling;
  }
}

/** A graph for which the memory does not suffice is finished on disk, many times more slowly. */
async function buildMemory({ database, kind, embedder }: Context): Promise<{ maintenance_work_mem: string }> {
  const { least, most } = buildMegabytes[database.engine];
  const megabytesEach = (embedder.dimensions * Float32Array.BYTES_PER_ELEMENT + graphBytes) / 2 ** 20;
  // More than have room need not be counted.
  const vectors = await countVectors(database, kind, embedder.id, Math.floor(most / megabytesEach));
  return { maintenance_work_mem: `${Math.ceil(Math.max(vectors * megabytesEach, least))}MB` };
}

/**
 * Several processes of the server share the memory of a build, and a container may give them less (64 MB in Docker's
 * default). One alone has memory of its own.
 */
async function buildConcurrently(
  { database, log, name }: Context,
  memory: { maintenance_work_mem: string },
  statement: Sql,
): Promise<void> {
  try {
    await database.executeWith(memory, statement);
  } catch (error) {
    if (!isDiskFull(error) && !isOutOfMemory(error)) throw error;
    log.warn({ index: name, ...memory }, 'the server has too little shared memory (shm_size), so one process builds');
    await drop({ database, log }, name);
    const alone = { maintenance_work_mem: `${buildMegabytes.postgres.least}MB`, max_parallel_maintenance_workers: '0' };
    await database.executeWith(alone, statement);
  }
}

/** Again and again, because the server may not have begun when the first one comes. */
async function cancelOnAbort(
  { database, clock }: Context,
  build: Sql,
  over: AbortSignal,
  signal?: AbortSignal,
): Promise<void> {
  if (!signal) return;
  await aborted(AbortSignal.any([signal, over]));
  while (!over.aborted) {
    await cancelBuild(database, build).catch(() => undefined);
    await clock.sleep(cancelAgainMs, over);
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

interface StoredIndex {
  name: string;
  /** False for what an interrupted build left behind. */
  valid: boolean;
  /** Somebody builds it at this moment. */
  building: boolean;
  /** Vectors in it, as the server last estimated. */
  vectors: number;
}

/** Names of the vector indexes start so; what follows stands for the model. */
const prefixOf = (kind: EmbeddedKind) => `${kind}_hnsw_`;

async function readIndexes(database: Queryable, kind: EmbeddedKind): Promise<StoredIndex[]> {
  return database.query<StoredIndex>(sql`
    select c.relname as name, i.indisvalid as valid, greatest(c.reltuples, 0)::float8 as vectors,
      exists (select 1 from pg_stat_progress_create_index p where p.index_relid = c.oid) as building
    from pg_index i join pg_class c on c.oid = i.indexrelid
    where i.indrelid = ${kind}::text::regclass and starts_with(c.relname, ${prefixOf(kind)}::text)
    order by c.relname`);
}

/** Memories that are replaced or forgotten are found by other ways. */
const whatCounts = {
  chunks: rawSql(''),
  memories: rawSql(' and is_latest and not is_forgotten'),
};

/** Vectors of the model that would be in the index, counted up to a limit. */
async function countVectors(database: Queryable, kind: EmbeddedKind, model: string, limit: number): Promise<number> {
  const row = firstOf(
    await database.query<{ count: number }>(sql`
    select count(*) as count from (
      select from ${rawSql(kind)} where embedding_model = ${model}${whatCounts[kind]} limit ${limit}) vectors`),
  );
  return row.count;
}

/**
 * Documents that wait to be processed, and items that the runs of this moment are still to fetch: workers that keep up
 * with a first sync leave few documents waiting. Counted up to a limit.
 */
async function countWaiting(database: Queryable, now: Date, limit: number): Promise<number> {
  const row = firstOf(
    await database.query<{ count: number }>(sql`
    select count(*) as count from (
      select from documents where ${isToBeRead}
      union all select from documents where ${lacksVectors}
      union all select from connections c join sync_items i on i.connection_id = c.id
        where c.lease_until >= ${now} and i.state in ('pending', 'fetching')
      limit ${limit}) waiting`),
  );
  return row.count;
}

/** m and ef_construction are pgvector's defaults, measured in docs/decisions. The search has the same expression and condition. */
function createIndexStatement(
  kind: EmbeddedKind,
  name: string,
  model: { id: string; dimensions: number },
  concurrently: boolean,
): Sql {
  return sql`create index ${rawSql(concurrently ? 'concurrently ' : '')}if not exists ${rawSql(name)}
    on ${rawSql(kind)} using hnsw (${vectorOf(model.dimensions, 'embedding')} vector_cosine_ops)
    with (m = 16, ef_construction = 64)
    where embedding_model = ${textLiteral(model.id)}${whatCounts[kind]}`;
}

/**
 * Stops the build of an index on the server; it leaves an invalid index. The build is known by its
 * text, because in its first moments no other session sees the index it makes.
 */
async function cancelBuild(database: Queryable, build: Sql): Promise<void> {
  await database.query(sql`
    select pg_cancel_backend(pid) from pg_stat_activity
    where datname = current_database() and state = 'active' and query = ${build.text}`);
}
