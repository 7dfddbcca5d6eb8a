import { createHash } from 'node:crypto';
import { cp, mkdtemp, readdir, realpath, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createMinilmEmbedder } from '../src/models/minilm/minilm-embedder.ts';
import type { Daemon } from '../test/support/daemon.ts';
import { call } from '../test/support/memory-of.ts';
import { connectFolder } from './connected-folder.ts';
import { until, withDaemon } from './daemon.ts';
import { makeBenchStore, type BenchStore, type Engine } from './databases.ts';
import { embeddedTexts, timeModel } from './ingest.ts';
import { seconds, type Figure } from './report.ts';
import { walk } from './walk.ts';

/** Where Debian and its kin keep the copyrights, change logs and manuals of packages. */
const source = '/usr/share/doc';

/**
 * A part of `/usr/share/doc` from its connecting to searchable, through the daemon with its default model, against the
 * model alone on the texts of which each is different.
 */
export async function benchMixedFolder(engine: Engine, bytes: number): Promise<Figure[]> {
  const store = await makeBenchStore(engine);
  const root = await realpath(await mkdtemp(join(tmpdir(), 'memoryd-bench-files-')));
  try {
    const files = await copyPackages(root, bytes);
    const { foundMs, loadMs } = await withDaemon(store, (daemon) => timeLoad(daemon, root), 'default model');
    const all = await storedTexts(store);
    const texts = [...new Set(all)];
    const aloneMs = await timeModelAlone(texts);
    const reused = `${all.length} chunks, ${texts.length} of them different`;
    return [
      {
        name: `${files} files of ${source} to searchable, ${engine}`,
        value: `${seconds(loadMs)} (${reused})`,
        limit: `the model alone: ${seconds(aloneMs)}`,
        ratio: aloneMs / loadMs,
        better: 'larger',
        target: 0.9,
      },
      {
        name: `the first of them found, ${engine}`,
        value: seconds(foundMs),
        ...{ limit: null, ratio: null, better: 'smaller', target: null },
      },
    ];
  } finally {
    await rm(root, { recursive: true, force: true });
    await store.remove();
  }
}

/** Copies the folders of whole packages, chosen by a hash of their names. Answers how many files they have. */
async function copyPackages(root: string, bytes: number): Promise<number> {
  const hashed = (name: string) => createHash('sha256').update(name).digest('hex');
  const names = (await readdir(source)).toSorted((a, b) => (hashed(a) < hashed(b) ? -1 : 1));
  let total = 0;
  let files = 0;
  for (const name of names) {
    const paths = await walk(join(source, name)).catch(() => []);
    const sizes = await Promise.all(paths.map(async (path) => (await stat(path)).size));
    const size = sizes.reduce((sum, one) => sum + one, 0);
    // One package has half of all bytes, and would be all that is measured.
    if (size > bytes / 8) continue;
    await cp(join(source, name), join(root, name), { recursive: true, verbatimSymlinks: true });
    total += size;
    files += paths.length;
    if (total > bytes) return files;
  }
  return files;
}

async function timeLoad(daemon: Daemon, root: string): Promise<{ foundMs: number; loadMs: number }> {
  const folder = await connectFolder(daemon, { path: root });
  const started = performance.now();
  let foundMs = 0;
  const found = until(async () => {
    const wanted = { q: 'copyright license', searchMode: 'documents', containerTag: 'bench' };
    return (await call(daemon, 'POST', '/v4/search', wanted)).total > 0;
  }).then(() => (foundMs = performance.now() - started));
  const [loadMs] = await Promise.all([folder.load(), found]);
  return { foundMs, loadMs };
}

async function storedTexts(store: BenchStore): Promise<string[]> {
  const database = await store.open();
  try {
    return await embeddedTexts(database);
  } finally {
    await database.close();
  }
}

async function timeModelAlone(texts: readonly string[]): Promise<number> {
  const embedder = createMinilmEmbedder();
  try {
    await embedder.embed(['warm up']);
    return await timeModel(embedder, texts);
  } finally {
    await embedder.close();
  }
}
