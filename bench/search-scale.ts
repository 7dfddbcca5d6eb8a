import { silentLogger } from '../src/base/log.ts';
import { systemClock } from '../src/base/clock.ts';
import { terms } from '../src/engine/terms.ts';
import { createHashingEmbedder } from '../src/models/hashing-embedder.ts';
import { createSearch } from '../src/search/create-search.ts';
import { insertChunks, type ChunkWrite } from '../src/store/document-contents.ts';
import type { Database } from '../src/store/database.ts';
import { sql } from '../src/store/sql.ts';
import { createVectorIndex } from '../src/store/vector-index.ts';
import type { Daemon } from '../test/support/daemon.ts';
import { call } from '../test/support/memory-of.ts';
import { withDaemon } from './daemon.ts';
import { makeBenchStore, type Engine } from './databases.ts';
import { seconds, type Figure } from './report.ts';
import { createSearchWorld, type SearchWorld } from './search-world.ts';

const batchSize = 500;
const chunksPerDocument = 5;
const queryCount = 100;
/** Reading everything takes seconds. */
const comparedCount = 10;
const rounds = 5;
const wanted = 10;
/** Containers by the number of a document: one of a hundred, a quarter, and the rest. */
const containerOf = (document: number) =>
  document % 100 === 0 ? 'hundredth' : document % 4 === 1 ? 'quarter' : 'rest';
const scopes: Record<string, string | undefined> = {
  'all containers': undefined,
  'a container of 25 %': 'quarter',
  'a container of 1 %': 'hundredth',
};

/** Searches in a store of a size, through the daemon. */
export async function benchSearchScale(engine: Engine, chunks: number): Promise<Figure[]> {
  const store = await makeBenchStore(engine);
  const world = createSearchWorld(11);
  try {
    const database = await store.open();
    await fill(database, world, chunks);
    const queries = Array.from({ length: queryCount }, () => world.text(5));
    const exact = await exactAnswers(database, queries.slice(0, comparedCount));
    await database.close();
    return await withDaemon(store, async (daemon) => {
      const figures: Figure[] = [];
      for (const [name, containerTag] of Object.entries(scopes)) {
        const { p50, p95, found } = await timeSearches(daemon, queries, containerTag);
        const recall = recallOf(exact.get(name)!, found);
        figures.push({
          name: `search in ${name}, ${chunks} chunks, ${engine}`,
          value: `p50 ${seconds(p50)}, p95 ${seconds(p95)}, recall at 10 ${recall.toFixed(2)}`,
          ...{ limit: null, ratio: null, better: 'smaller', target: null },
        });
      }
      return figures;
    });
  } finally {
    await store.remove();
  }
}

async function fill(database: Database, world: SearchWorld, count: number): Promise<void> {
  const embedder = createHashingEmbedder();
  const now = new Date('2026-03-01T00:00:00.000Z');
  for (let start = 0; start < count; start += batchSize) {
    const texts = Array.from({ length: Math.min(batchSize, count - start) }, () => world.text(60));
    const vectors = await embedder.embed(texts);
    const chunks = texts.map((text, index) => chunkOf(start + index, text, vectors[index]!, embedder.id));
    const documents = [...new Set(chunks.map((chunk) => chunk.documentId))];
    const tags = documents.map((id) => containerOf(Number(id.slice(1))));
    await database.transaction(async (tx) => {
      await tx.execute(sql`
        insert into documents (id, container_tag, status, type, content_hash, created_at, updated_at)
        select id, tag, 'done', 'text', id, ${now}, ${now}
        from unnest(${documents}::text[], ${tags}::text[]) as d (id, tag)`);
      await insertChunks(tx, chunks, now);
    });
  }
  const { id, dimensions } = embedder;
  const context = { kind: 'chunks', database, clock: systemClock, log: silentLogger } as const;
  const state = await createVectorIndex({ ...context, embedder: { id, dimensions } }).ensure();
  // Below its threshold there is none, and the daemon keeps the texts in memory.
  if (state !== 'ready' && state !== 'absent') throw new Error(`The vector index is ${state}.`);
}

function chunkOf(number: number, content: string, embedding: Float32Array, model: string): ChunkWrite {
  const found = terms(content);
  const document = Math.floor(number / chunksPerDocument);
  return {
    ...{ id: `c${String(number).padStart(9, '0')}`, documentId: `d${String(document).padStart(9, '0')}` },
    ...{ containerTag: containerOf(document), position: number % chunksPerDocument, content, context: null },
    ...{ type: 'text', tokenCount: 100, contentHash: String(number), embedding, embeddingModel: model },
    ...{ terms: found.terms, termCounts: found.counts, termTotal: found.total, languages: [] },
  };
}

type Answers = Map<string, readonly string[]>;

/** What reading everything finds. */
async function exactAnswers(database: Database, queries: readonly string[]): Promise<Map<string, Answers>> {
  const embedder = createHashingEmbedder();
  const search = createSearch({ database, embedder, log: silentLogger, exactLimit: 100_000_000 });
  const answers = new Map<string, Answers>();
  for (const [name, tag] of Object.entries(scopes)) {
    const found = new Map<string, readonly string[]>();
    for (const q of queries) {
      const scope = { containerTags: tag === undefined ? null : [tag] };
      const results = await search.search({ q, scope, mode: 'documents', threshold: 0, limit: wanted });
      found.set(
        q,
        results.map(({ id }) => id),
      );
    }
    answers.set(name, found);
  }
  return answers;
}

function recallOf(exact: Answers, found: Answers): number {
  const shares = [...exact].map(([q, ids]) => ids.filter((id) => found.get(q)!.includes(id)).length / ids.length);
  return shares.reduce((sum, share) => sum + share, 0) / shares.length;
}

async function timeSearches(daemon: Daemon, queries: readonly string[], containerTag: string | undefined) {
  const times: number[] = [];
  const found: Answers = new Map();
  for (let round = 0; round <= rounds; round++) {
    for (const q of queries) {
      const started = performance.now();
      const body = { q, searchMode: 'documents', threshold: 0, limit: wanted, ...(containerTag && { containerTag }) };
      const { results } = await call(daemon, 'POST', '/v4/search', body);
      // The first round reads what is kept in memory.
      if (round > 0) times.push(performance.now() - started);
      if (results.length < wanted) throw new Error(`A search in ${String(containerTag)} found ${results.length}.`);
      found.set(
        q,
        (results as { id: string }[]).map(({ id }) => id),
      );
    }
  }
  times.sort((a, b) => a - b);
  const at = (share: number) => times[Math.floor(times.length * share)]!;
  return { p50: at(0.5), p95: at(0.95), found };
}
