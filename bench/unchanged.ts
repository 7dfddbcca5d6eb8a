import { lstat, readdir } from 'node:fs';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Embedder } from '../src/models/embedder.ts';
import { createHashingEmbedder } from '../src/models/hashing-embedder.ts';
import type { Database } from '../src/store/database.ts';
import { rawSql, sql } from '../src/store/sql.ts';
import { writeTexts } from './corpus.ts';
import { openBenchDatabase, type Engine } from './databases.ts';
import { createPipeline } from './pipeline.ts';
import { median, seconds, type Figure } from './report.ts';

/** As many as the folder connector. */
const looksAtOnce = 32;
const pathsPerStatement = 1_000;
const rounds = 5;

/**
 * A sync of a folder that did not change, against a walk over the same files and one statement per
 * 1,000 of them. Throws when the sync wrote to a document or embedded anything.
 */
export async function benchUnchanged(engine: Engine, files: number): Promise<Figure> {
  const { database, close } = await openBenchDatabase(engine);
  const root = await realpath(await mkdtemp(join(tmpdir(), 'memoryd-bench-files-')));
  const embedder = countEmbedded(createHashingEmbedder());
  const pipeline = await createPipeline(database, embedder, { path: root });
  try {
    await writeTexts(root, files, (index) => `small note ${String(index).padStart(8, '0')}\n`);
    await pipeline.sync();
    await pipeline.finish();
    await database.script('vacuum analyze');
    const [syncs, walks, marks]: number[][] = [[], [], []];
    for (let round = 0; round < rounds; round++) {
      syncs!.push(await timeUnchangedSync(database, embedder, pipeline.sync, files));
      const bare = await timeBare(database, root, files);
      walks!.push(bare.walkMs);
      marks!.push(bare.markMs);
    }
    const [syncMs, walkMs, markMs] = [median(syncs!), median(walks!), median(marks!)];
    return {
      name: `sync of ${files} unchanged files, ${engine}`,
      value: seconds(syncMs),
      limit: `bare walk ${seconds(walkMs)} + statements ${seconds(markMs)}`,
      ratio: syncMs / (walkMs + markMs),
      better: 'smaller',
      target: 1.5,
    };
  } finally {
    await pipeline.close();
    await rm(root, { recursive: true, force: true });
    await close();
  }
}

type CountingEmbedder = Embedder & { readonly embedded: number };

function countEmbedded(embedder: Embedder): CountingEmbedder {
  let embedded = 0;
  return {
    ...embedder,
    embed(texts, options) {
      embedded += texts.length;
      return embedder.embed(texts, options);
    },
    get embedded() {
      return embedded;
    },
  };
}

async function timeUnchangedSync(
  database: Database,
  embedder: CountingEmbedder,
  sync: () => Promise<void>,
  files: number,
): Promise<number> {
  await removeOldVersions(database);
  const before = JSON.stringify(await stateOf(database, embedder));
  const started = performance.now();
  await sync();
  const elapsedMs = performance.now() - started;
  const after = JSON.stringify(await stateOf(database, embedder));
  if (after !== before) throw new Error(`The sync changed more than the ledger: ${before} became ${after}.`);
  const [run] = await database.query<{ status: string; skipped: number }>(
    rawSql('select status, items_skipped as skipped from sync_runs order by id desc limit 1'),
  );
  if (run?.status !== 'completed' || run.skipped !== files)
    throw new Error(`The sync was to find ${files} unchanged files: ${JSON.stringify(run)}.`);
  return elapsedMs;
}

/** Both sides rewrite each ledger row once and meet the table in the same state. */
async function removeOldVersions(database: Database): Promise<void> {
  await database.script('vacuum sync_items');
}

/** Any write to one of the rows gives it a newer xmin. */
async function stateOf(database: Database, embedder: CountingEmbedder) {
  const tables: unknown[] = [];
  for (const table of ['documents', 'document_contents', 'chunks']) {
    const state = await database.query(
      rawSql(`select '${table}' as name, count(*) as rows, max(xmin::text::bigint) as newest from ${table}`),
    );
    tables.push(...state);
  }
  return { tables, embedded: embedder.embedded };
}

async function timeBare(database: Database, root: string, files: number): Promise<{ walkMs: number; markMs: number }> {
  await removeOldVersions(database);
  const started = performance.now();
  const paths = await walk(root);
  const walked = performance.now();
  const marked = await mark(database, paths);
  const ended = performance.now();
  if (paths.length !== files || marked !== files)
    throw new Error(`The bare walk was to find ${files} files, it found ${paths.length} and marked ${marked}.`);
  return { walkMs: walked - started, markMs: ended - walked };
}

/** Every file below the folder, each looked at; 32 calls of the file system at once. */
function walk(root: string): Promise<string[]> {
  const paths: string[] = [];
  const left: { path: string; isFolder: boolean }[] = [{ path: root, isFolder: true }];
  let running = 0;
  return new Promise((resolve, reject) => {
    function done(error: Error | null): void {
      if (error) return reject(error);
      running--;
      start();
    }
    function start(): void {
      while (running < looksAtOnce && left.length > 0) {
        const { path, isFolder } = left.pop()!;
        running++;
        if (isFolder) readFolder(path);
        else lookAt(path);
      }
      if (running === 0) resolve(paths);
    }
    function readFolder(path: string): void {
      readdir(path, { withFileTypes: true }, (error, entries) => {
        for (const entry of entries ?? []) left.push({ path: `${path}/${entry.name}`, isFolder: entry.isDirectory() });
        done(error);
      });
    }
    function lookAt(path: string): void {
      lstat(path, (error) => {
        paths.push(path);
        done(error);
      });
    }
    start();
  });
}

/** The same rows as a listing moves to its epoch, and nothing else. */
async function mark(database: Database, paths: readonly string[]): Promise<number> {
  const [partition] = await database.query<{ connection: string; id: string; epoch: number }>(
    rawSql('select connection_id as connection, id, epoch from partitions'),
  );
  const { connection, id, epoch } = partition!;
  let marked = 0;
  for (let start = 0; start < paths.length; start += pathsPerStatement) {
    marked += await database.execute(sql`
      update sync_items set seen_epoch = ${epoch}
      where connection_id = ${connection} and partition_id = ${id}
        and ext_id = any(${paths.slice(start, start + pathsPerStatement)}::text[])`);
  }
  return marked;
}
