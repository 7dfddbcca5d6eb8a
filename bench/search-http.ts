import { systemClock } from '../src/base/clock.ts';
import { silentLogger } from '../src/base/log.ts';
import { createHashingEmbedder } from '../src/models/hashing-embedder.ts';
import { createSearch } from '../src/search/create-search.ts';
import type { Database } from '../src/store/database.ts';
import { rawSql, type Sql } from '../src/store/sql.ts';
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
const rounds = 3;
const loadPatienceMs = 300_000;

/** Searches over HTTP at a daemon of its own process, against the statement that each of them runs. */
export async function benchSearchOverHttp(engine: Engine, chunks: number): Promise<Figure> {
  const store = await makeBenchStore(engine);
  const world = createSearchWorld(11);
  try {
    await withDaemon(store, (daemon) => load(daemon, world, chunks));
    const queries = Array.from({ length: queryCount }, () => world.text(wordsPerQuery));
    const [searches, healths, statements]: [number[], number[], number[]] = [[], [], []];
    // In turns, because the embedded store has one process at a time and the machine is not equally fast all the time.
    for (let round = 0; round < rounds; round++) {
      statements.push(await timeStatements(store, queries, chunks));
      const http = await withDaemon(store, (daemon) => timeRequests(daemon, queries));
      searches.push(http.searchMs);
      healths.push(http.healthMs);
    }
    return {
      name: `search over HTTP, ${chunks} chunks, ${engine}`,
      value: `p50 ${seconds(median(searches))} (GET /health ${seconds(median(healths))})`,
      limit: `bare statement p50 ${seconds(median(statements))}`,
      ratio: median(searches) / median(statements),
      better: 'smaller',
      target: 1.5,
    };
  } finally {
    await store.remove();
  }
}

/** Texts so short that each document is one chunk. */
async function load(daemon: Daemon, world: SearchWorld, count: number): Promise<void> {
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

async function timeStatements(store: BenchStore, queries: readonly string[], chunks: number): Promise<number> {
  const database = await store.open();
  try {
    await database.script('vacuum analyze');
    const [found] = await database.query<{ count: number }>(rawSql('select count(*) as count from chunks'));
    if (found!.count !== chunks) throw new Error(`There were to be ${chunks} chunks, there are ${found!.count}.`);
    const statements = await statementsOf(database, queries);
    const { p50Ms } = await percentiles(statements, (statement) => database.query(statement));
    return p50Ms;
  } finally {
    await database.close();
  }
}

/** What these searches run once the statistics of their scope are known. */
async function statementsOf(database: Database, queries: readonly string[]): Promise<Sql[]> {
  const statements: Sql[] = [];
  const query = <Row>(statement: Sql) => {
    statements.push(statement);
    return database.query<Row>(statement);
  };
  const embedder = createHashingEmbedder();
  const search = createSearch({ database: { ...database, query }, embedder, clock: systemClock, log: silentLogger });
  const run = (q: string) =>
    search.search({ q, scope: { containerTags: ['bench'] }, mode: 'documents', threshold: 0, limit: 10 });
  for (const q of queries) await run(q);
  statements.length = 0;
  for (const q of queries) await run(q);
  return statements;
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
