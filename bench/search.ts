import { toSql } from 'pgvector';
import { systemClock } from '../src/base/clock.ts';
import { silentLogger } from '../src/base/log.ts';
import type { Embedder } from '../src/models/embedder.ts';
import { createSearch } from '../src/search/create-search.ts';
import type { Database } from '../src/store/database.ts';
import { sql, type Sql } from '../src/store/sql.ts';
import { createVectorIndex, type VectorIndexState } from '../src/store/vector-index.ts';
import { engines, openBenchDatabase, type Engine } from './databases.ts';
import { createSearchWorld, fillSearchWorld, worldModel, type SearchWorld } from './search-world.ts';

export interface SearchBenchResult {
  engine: Engine;
  chunks: number;
  index: VectorIndexState;
  fillMs: number;
  indexMs: number;
  /** The whole of `search`, without the model; term statistics of the scope not yet known. */
  cold: Percentiles;
  /** The same queries again. */
  warm: Percentiles;
  /** Only the statement that a warm search runs. */
  statement: Percentiles;
  /** The least that a vector search could do: ten nearest chunks, nothing else. */
  nearest: Percentiles;
  /** Warm search over bare statement, at the median. */
  overhead: number;
}

export interface Percentiles {
  p50Ms: number;
  p95Ms: number;
}

const queryCount = 100;
const wordsPerQuery = 5;

/** Fills a fresh store and measures searches in it. */
export async function benchSearch(engine: Engine, chunks: number): Promise<SearchBenchResult> {
  const world = createSearchWorld(11);
  const opened = await openBenchDatabase(engine);
  try {
    const fillMs = await time(() => fillSearchWorld(opened.database, world, chunks));
    const vectorIndex = createVectorIndex({
      kind: 'chunks',
      database: opened.database,
      embedder: worldModel,
      clock: systemClock,
      log: silentLogger,
    });
    let index: VectorIndexState = 'absent';
    const indexMs = await time(async () => {
      index = await vectorIndex.ensure();
    });
    return { engine, chunks, index, fillMs, indexMs, ...(await measure(opened.database, world)) };
  } finally {
    await opened.close();
  }
}

type Measures = Pick<SearchBenchResult, 'cold' | 'warm' | 'statement' | 'nearest' | 'overhead'>;

async function measure(database: Database, world: SearchWorld): Promise<Measures> {
  const queries = Array.from({ length: queryCount }, () => ({ q: world.text(wordsPerQuery), vector: world.vector() }));
  const statements: Sql[] = [];
  const search = createSearch({
    database: {
      ...database,
      query: (statement) => {
        statements.push(statement);
        return database.query(statement);
      },
    },
    embedder: tableEmbedder(new Map(queries.map(({ q, vector }) => [q, vector]))),
    clock: systemClock,
    log: silentLogger,
  });
  const run = ({ q }: { q: string }) =>
    search.search({ q, scope: { containerTags: ['bench'] }, mode: 'documents', threshold: 0, limit: 10 });
  const cold = await percentiles(queries, run);
  statements.length = 0;
  const warm = await percentiles(queries, run);
  const statement = await percentiles(statements.splice(0), (each) => database.query(each));
  const nearest = await percentiles(queries, ({ vector }) => database.query(nearestStatement(vector)));
  return { cold, warm, statement, nearest, overhead: warm.p50Ms / statement.p50Ms };
}

function nearestStatement(vector: Float32Array): Sql {
  return sql`
    select id from chunks where embedding_model = 'bench'
    order by (embedding::vector(384)) <=> ${toSql(Array.from(vector))}::vector limit 10`;
}

/** Costs nothing, so that only the search is measured. */
function tableEmbedder(vectors: Map<string, Float32Array>): Embedder {
  return {
    ...worldModel,
    maxTokens: 256,
    maxInputs: 1,
    relatedAt: 0.4,
    runtime: async () => 'table',
    embed: async (texts) => texts.map((text) => vectors.get(text)!),
    tokens: { kind: 'words' },
    verify: async () => ({ id: worldModel.id, runtime: 'table', ok: true, checks: [] }),
    close: async () => {},
  };
}

export async function percentiles<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<Percentiles> {
  const times: number[] = [];
  for (const item of items) times.push(await time(() => work(item)));
  times.sort((a, b) => a - b);
  return { p50Ms: times[Math.floor(times.length * 0.5)]!, p95Ms: times[Math.floor(times.length * 0.95)]! };
}

async function time(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

if (import.meta.main) {
  const sizes: [Engine, number][] = [...engines.map((engine): [Engine, number] => [engine, 10_000])];
  if (engines.includes('postgres')) sizes.push(['postgres', 100_000]);
  const [engine, chunks] = process.argv.slice(2);
  const chosen = engine === undefined ? sizes : [[engine as Engine, Number(chunks ?? 10_000)] as const];
  for (const [each, size] of chosen) {
    const rounded = (_: string, value: unknown) => (typeof value === 'number' ? Math.round(value * 100) / 100 : value);
    console.log(JSON.stringify(await benchSearch(each, size), rounded));
  }
}
