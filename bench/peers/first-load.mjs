/**
 *     DATABASE_URL=postgresql://… node first-load.mjs [documents]
 *
 * A first load through the daemon, and the same chunks with the same vectors through LangChain's `index()` into its
 * PGVectorStore, as its documentation sets both up: without a vector index, and with the one that it makes itself, there
 * from the start as in memoryd. One after the other on one server, each in a new database.
 */
import { PostgresRecordManager } from '@langchain/community/indexes/postgres';
import { PGVectorStore } from '@langchain/community/vectorstores/pgvector';
import { Document } from '@langchain/core/documents';
import { Embeddings } from '@langchain/core/embeddings';
import { index } from '@langchain/core/indexing';
import { makeBenchStore } from '../databases.ts';
import { loadedChunks, loadFolder } from '../first-load.ts';
import { printTable, seconds } from '../report.ts';

const documents = Number(process.argv[2] ?? 20_000);
const target = 2.5;

/** Gives each text the vector that it has already. */
class Known extends Embeddings {
  constructor(vectors) {
    super({});
    this.vectors = vectors;
  }
  async embedDocuments(texts) {
    return texts.map((text) => this.vectors.get(text));
  }
  async embedQuery(text) {
    return this.vectors.get(text);
  }
}

async function loadWithLangChain(chunks, { withIndex }) {
  const store = await makeBenchStore('postgres');
  const options = { postgresConnectionOptions: { connectionString: store.databaseUrl } };
  const vectors = new Map(chunks.map(({ content, embedding }) => [content, Array.from(embedding)]));
  const dimensions = chunks[0].embedding.length;
  const vectorStore = await PGVectorStore.initialize(new Known(vectors), { ...options, tableName: 'peer', dimensions });
  const recordManager = new PostgresRecordManager('bench', options);
  try {
    await recordManager.createSchema();
    if (withIndex) await vectorStore.createHnswIndex({ dimensions });
    const docsSource = chunks.map(
      ({ id, content }) => new Document({ pageContent: content, metadata: { source: id } }),
    );
    const started = performance.now();
    const result = await index({
      docsSource,
      recordManager,
      vectorStore,
      options: { cleanup: undefined, sourceIdKey: 'source', batchSize: 500 },
    });
    const elapsedMs = performance.now() - started;
    if (result.numAdded !== chunks.length) throw new Error(`LangChain added ${result.numAdded} of ${chunks.length}.`);
    return elapsedMs;
  } finally {
    await vectorStore.end();
    await recordManager.end();
    await store.remove();
  }
}

const store = await makeBenchStore('postgres');
try {
  const oursMs = await loadFolder(store, documents);
  const chunks = await loadedChunks(store);
  const rate = (ms) => `${seconds(ms)}, ${Math.round((chunks.length / ms) * 1_000)} vectors/s`;
  const figures = [];
  for (const withIndex of [true, false]) {
    const theirsMs = await loadWithLangChain(chunks, { withIndex });
    figures.push({
      name: `first load of ${documents} documents, ${chunks.length} chunks`,
      value: rate(oursMs),
      limit: `LangChain index(), PGVectorStore ${withIndex ? 'with' : 'without'} its HNSW index: ${rate(theirsMs)}`,
      ratio: theirsMs / oursMs,
      better: 'larger',
      target,
    });
  }
  printTable(figures);
} finally {
  await store.remove();
}
