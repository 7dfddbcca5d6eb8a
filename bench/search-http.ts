import { toSql } from 'pgvector';
import { systemClock } from '../src/base/clock.ts';
import { createHashingEmbedder } from '../src/models/hashing-embedder.ts';
import type { Database } from '../src/store/database.ts';
import { rawSql, sql } from '../src/store/sql.ts';
import type { Daemon } from '../test/support/daemon.ts';
import { call } from '../test/support/memory-of.ts';
import { withDaemon } from './daemon.ts';
import { makeBenchStore, type BenchStore, type Engine } from './databases.ts';
import { median, seconds, type Figure } from './report.ts';
import { createSearchWorld, type SearchWorld } from './search-world.ts';
import { percentiles } from './search.ts';

const wordsPerDocument = 60;
const documentsPerBatch = 500;
const queryCount = 100;
const wordsPerQuery = 5;
const rounds = 5;
const loadPatienceMs = 300_000;

/**
 * Searches over HTTP at a daemon of its own process, against the ten nearest vectors, which is the least that could be
 * asked of the database. Nothing is vacuumed or analyzed before.
 */
export async function benchSearchOverHttp(engine: Engine, chunks: number): Promise<Figure> {
  const store = await makeBenchStore(engine);
  const world = createSearchWorld(11);
  try {
    await withDaemon(store, (daemon) => loadTexts(daemon, world, chunks));
    const queries = Array.from({ length: queryCount }, () => world.text(wordsPerQuery));
    const [searches, healths, bare]: [number[], number[], number[]] = [[], [], []];
    // In turns, because the embedded store has one process at a time and the machine is not equally fast all the time.
    for (let round = 0; round < rounds; round++) {
      bare.push(await timeNearest(store, queries, chunks));
      const http = await withDaemon(store, (daemon) => timeRequests(daemon, queries));
      searches.push(http.searchMs);
      healths.push(http.healthMs);
    }
    const spread = [Math.min(...searches), Math.max(...searches)].map(seconds).join(' to ');
    return {
      name: `search over HTTP, ${chunks} chunks, ${engine}`,
      value: `p50 ${seconds(median(searches))} (${spread}; GET /health ${seconds(median(healths))})`,
      limit: `bare vector query p50 ${seconds(median(bare))}`,
      ratio: median(searches) / median(bare),
      better: 'smaller',
      target: null,
    };
  } finally {
    await store.remove();
  }
}

/** Texts so short that each document is one chunk. */
export async function loadTexts(daemon: Daemon, world: SearchWorld, count: number): Promise<void> {
  for (let start = 0; start < count; start += documentsPerBatch) {
    const documents = Array.from({ length: Math.min(documentsPerBatch, count - start) }, () => ({
      content: world.text(wordsPerDocument),
    }));
    const { failed } = await call(daemon, 'POST', '/v3/documents/batch', { documents, containerTag: 'bench' });
    if (failed > 0) throw new Error(`${failed} documents of a batch were refused.`);
  }
  const started = performance.now();
  while ((await call(daemon, 'GET', '/v3/documents/processing')).totalCount > 0) {
    if (performance.now() - started > loadPatienceMs) throw new Error('The documents were not processed in time.');
    await systemClock.sleep(200);
  }
}

async function timeNearest(store: BenchStore, queries: readonly string[], chunks: number): Promise<number> {
  const database = await store.open();
  try {
    const [found] = await database.query<{ count: number }>(rawSql('select count(*) as count from chunks'));
    if (found!.count !== chunks) throw new Error(`There were to be ${chunks} chunks, there are ${found!.count}.`);
    const vectors = await createHashingEmbedder().embed(queries);
    await percentiles(vectors, (vector) => nearest(database, vector));
    return (await percentiles(vectors, (vector) => nearest(database, vector))).p50Ms;
  } finally {
    await database.close();
  }
}

function nearest(database: Database, vector: Float32Array): Promise<unknown> {
  return database.query(sql`
    select id from chunks where embedding_model = 'hashing:256'
    order by (embedding::vector(256)) <=> ${toSql(Array.from(vector))}::vector limit 10`);
}

async function timeRequests(
  daemon: Daemon,
  queries: readonly string[],
): Promise<{ searchMs: number; healthMs: number }> {
  const search = async (q: string) => {
    const body = { q, containerTag: 'bench', searchMode: 'documents', threshold: 0, limit: 10 };
    const { total } = await call(daemon, 'POST', '/v4/search', body);
    if (total !== 10) throw new Error(`A search was to find 10 chunks, it found ${total}.`);
  };
  for (const q of queries) await search(q);
  const searched = await percentiles(queries, search);
  const health = await percentiles(queries, () => call(daemon, 'GET', '/health'));
  return { searchMs: searched.p50Ms, healthMs: health.p50Ms };
}
