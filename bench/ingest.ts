import { createMinilmEmbedder } from '../src/models/minilm/minilm-embedder.ts';
import { createTrivialEmbedder } from './trivial-embedder.ts';
import type { Embedder } from '../src/models/embedder.ts';
import type { Database } from '../src/store/database.ts';
import { rawSql } from '../src/store/sql.ts';
import { copyRows, insertBare } from './bare-insert.ts';
import { openBenchDatabase, type Engine } from './databases.ts';
import { createPipeline, makeFolder } from './pipeline.ts';
import { againstLeast, median, seconds, type Figure } from './report.ts';

const fileBytes = 2_048;

async function run(database: Database, embedder: Embedder, path: string): Promise<number> {
  const pipeline = await createPipeline(database, embedder, { path });
  const started = performance.now();
  await pipeline.sync();
  await pipeline.finish();
  const elapsedMs = performance.now() - started;
  await pipeline.close();
  return elapsedMs;
}

/** Files on disk to searchable with the real model, against the model alone on the same chunks. */
export async function ingestWithModel(engine: Engine, files: number): Promise<Figure> {
  const { database, close } = await openBenchDatabase(engine);
  const folder = await makeFolder(files, fileBytes);
  const embedder = createMinilmEmbedder();
  try {
    await embedder.embed(['warm up']);
    const pipelineMs = await run(database, embedder, folder.path);
    const texts = await embeddedTexts(database);
    const aloneMs = await timeModel(embedder, texts);
    return {
      name: `folder of ${files} files to searchable, ${engine}, minilm`,
      value: `${seconds(pipelineMs)}, ${Math.round((texts.length / pipelineMs) * 1000)} chunks/s`,
      limit: `the model alone: ${seconds(aloneMs)}`,
      ratio: aloneMs / pipelineMs,
      better: 'larger',
      target: 0.8,
    };
  } finally {
    await embedder.close();
    await folder.close();
    await close();
  }
}

/** What the model was given of each chunk. */
export async function embeddedTexts(database: Database): Promise<string[]> {
  const rows = await database.query<{ text: string }>(
    rawSql(`select coalesce(context || E'\\n\\n', '') || content as text from chunks order by id`),
  );
  return rows.map(({ text }) => text);
}

/** Milliseconds that a model which is loaded takes alone. */
export async function timeModel(embedder: Embedder, texts: readonly string[]): Promise<number> {
  const started = performance.now();
  await embedder.embed([...texts]);
  return performance.now() - started;
}

/**
 * The same with an embedder that costs nothing, against a bare insert of the same rows. In turn in
 * new databases, and the medians count: one turn of a second each says little.
 */
export async function ingestWithoutModel(engine: Engine, files: number): Promise<Figure> {
  const folder = await makeFolder(files, fileBytes);
  const turns: Turn[] = [];
  try {
    while (turns.length < 5) turns.push(await ingestInTurn(engine, folder.path));
  } finally {
    await folder.close();
  }
  const pipelineMs = median(turns.map((turn) => turn.pipelineMs));
  const bareMs = median(turns.map((turn) => turn.bareMs));
  return {
    name: `folder of ${files} files, ${engine}, trivial embedder`,
    value: `${seconds(pipelineMs)}, ${Math.round((files / pipelineMs) * 1000)} documents/s; first ${seconds(turns[0]!.pipelineMs)}`,
    ...againstLeast(`bare insert of the same rows: ${seconds(bareMs)}`, bareMs / pipelineMs),
    better: 'larger',
    target: 0.7,
  };
}

interface Turn {
  pipelineMs: number;
  bareMs: number;
}

async function ingestInTurn(engine: Engine, path: string): Promise<Turn> {
  const { database, close } = await openBenchDatabase(engine);
  const target = await openBenchDatabase(engine);
  try {
    const pipelineMs = await run(database, createTrivialEmbedder(), path);
    return { pipelineMs, bareMs: await insertBare(target.database, await copyRows(database)) };
  } finally {
    await close();
    await target.close();
  }
}
