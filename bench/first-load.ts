import type { Database } from '../src/store/database.ts';
import { rowSet, rawSql, sql } from '../src/store/sql.ts';
import { connectFolder } from './connected-folder.ts';
import { withDaemon } from './daemon.ts';
import { makeBenchStore, openBenchDatabase, type BenchStore } from './databases.ts';
import { makeFolder } from './pipeline.ts';
import { seconds, type Figure } from './report.ts';

const fileBytes = 2_048;
const rowsPerStatement = 500;

/** A first load through the daemon, against a bare insert of its chunks into a table whose vector index exists. */
export async function benchFirstLoad(files: number): Promise<Figure> {
  const store = await makeBenchStore('postgres');
  try {
    const loadMs = await loadFolder(store, files);
    const chunks = await loadedChunks(store);
    const bareMs = await insertLive(chunks);
    const perSecond = (ms: number) => `${Math.round((chunks.length / ms) * 1_000)} vectors/s`;
    return {
      name: `first load of ${files} documents, postgres`,
      value: `${seconds(loadMs)}, ${perSecond(loadMs)}`,
      limit: `bare insert into a live HNSW index: ${seconds(bareMs)}, ${perSecond(bareMs)}`,
      ratio: bareMs / loadMs,
      better: 'larger',
      target: 1.8,
    };
  } finally {
    await store.remove();
  }
}

/** Milliseconds from the connecting of a folder with such files until all of them are done. */
export async function loadFolder(store: BenchStore, files: number): Promise<number> {
  const folder = await makeFolder(files, fileBytes);
  try {
    return await withDaemon(store, async (daemon) => (await connectFolder(daemon, { path: folder.path })).load());
  } finally {
    await folder.close();
  }
}

export interface LoadedChunk {
  id: string;
  content: string;
  embedding: Float32Array;
}

export async function loadedChunks(store: BenchStore): Promise<LoadedChunk[]> {
  const database = await store.open();
  try {
    const rows = await database.query<{ id: string; content: string; embedding: string }>(
      rawSql('select id, content, embedding::text as embedding from chunks where embedding is not null order by id'),
    );
    return rows.map(({ embedding, ...row }) => ({ ...row, embedding: Float32Array.from(JSON.parse(embedding)) }));
  } finally {
    await database.close();
  }
}

async function insertLive(chunks: readonly LoadedChunk[]): Promise<number> {
  const { database, close } = await openBenchDatabase('postgres');
  try {
    await database.script(`
      create table bare (id text primary key, content text not null, embedding vector(${chunks[0]!.embedding.length}));
      create index on bare using hnsw (embedding vector_cosine_ops)`);
    const started = performance.now();
    for (let start = 0; start < chunks.length; start += rowsPerStatement)
      await insertSome(database, chunks.slice(start, start + rowsPerStatement));
    return performance.now() - started;
  } finally {
    await close();
  }
}

async function insertSome(database: Database, chunks: readonly LoadedChunk[]): Promise<void> {
  const set = rowSet('r', { id: 'text', content: 'text', embedding: 'vector' }, chunks);
  await database.transaction((tx) =>
    tx.execute(sql`insert into bare (${set.names}) select ${set.select} from ${set.from}`),
  );
}
