import { appendFile, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectFolder, type ConnectedFolder } from './connected-folder.ts';
import { writeTexts } from './corpus.ts';
import { withDaemon } from './daemon.ts';
import { makeBenchStore, type Engine } from './databases.ts';
import { median, seconds, spread, type Figure } from './report.ts';
import { walk } from './walk.ts';

const rounds = 5;
const changedShare = 0.01;
/** A sync with changes may take so much longer than one without. */
const roomMs = 300;

/** Syncs of a folder right after its first load: without a change, and with one in a hundred files changed. */
export async function benchFolderSyncs(engine: Engine, files: number): Promise<Figure[]> {
  return withFolder(engine, files, async ({ folder, root }) => {
    const [unchanged, walks, changed]: [number[], number[], number[]] = [[], [], []];
    for (let round = 0; round < rounds; round++) {
      unchanged.push(await timeUnchanged(folder, files));
      walks.push(await timeWalk(root, files));
    }
    for (let round = 0; round < rounds; round++) changed.push(await timeChanged(folder, root, files, round));
    const [noopMs, walkMs, changedMs] = [median(unchanged), median(walks), median(changed)];
    return [
      {
        name: `sync of ${files} unchanged files, ${engine}`,
        value: `${seconds(noopMs)} (${spread(unchanged)})`,
        limit: `bare walk with lstat ${seconds(walkMs)} (${spread(walks)})`,
        ratio: noopMs / walkMs,
        better: 'smaller',
        target: 1.5,
      },
      {
        name: `sync of ${files} files of which one in a hundred changed, ${engine}`,
        value: `${seconds(changedMs)} (${spread(changed)})`,
        limit: `unchanged and ${seconds(roomMs)}: ${seconds(noopMs + roomMs)}`,
        ratio: changedMs / (noopMs + roomMs),
        better: 'smaller',
        target: 1,
      },
    ];
  });
}

/** By which power of their number the costs of items grow: 1 is linear. */
export async function benchGrowth(engine: Engine, sizes: readonly number[]): Promise<Figure[]> {
  const [loads, syncs]: [number[], number[]] = [[], []];
  for (const files of sizes) {
    const times = await withFolder(engine, files, async ({ folder, loadMs }) => {
      const unchanged: number[] = [];
      while (unchanged.length < rounds) unchanged.push(await timeUnchanged(folder, files));
      return { loadMs, syncMs: median(unchanged) };
    });
    loads.push(times.loadMs);
    syncs.push(times.syncMs);
  }
  const figure = (what: string, timesMs: readonly number[]): Figure => ({
    name: `${what} of ${sizes.join(', ')} files, ${engine}`,
    value: timesMs.map(seconds).join(', '),
    limit: 'the exponent of linear growth: 1',
    ratio: exponent(sizes, timesMs),
    better: 'smaller',
    target: 1.1,
  });
  return [figure('first load', loads), figure('sync without a change', syncs)];
}

/** The slope of the line through the logarithms, by least squares. */
function exponent(sizes: readonly number[], timesMs: readonly number[]): number {
  const [x, y] = [sizes.map(Math.log), timesMs.map(Math.log)];
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [meanX, meanY] = [mean(x), mean(y)];
  const both = x.reduce((sum, value, index) => sum + (value - meanX) * (y[index]! - meanY), 0);
  return both / x.reduce((sum, value) => sum + (value - meanX) ** 2, 0);
}

interface Loaded {
  folder: ConnectedFolder;
  root: string;
  loadMs: number;
}

async function withFolder<Result>(
  engine: Engine,
  files: number,
  work: (loaded: Loaded) => Promise<Result>,
): Promise<Result> {
  const store = await makeBenchStore(engine);
  const root = await realpath(await mkdtemp(join(tmpdir(), 'memoryd-bench-files-')));
  try {
    await writeTexts(root, files, (index) => `small note ${String(index).padStart(8, '0')}\n`);
    return await withDaemon(store, async (daemon) => {
      // Watched or looked at by itself, it would be synced when nobody asks for it.
      const folder = await connectFolder(daemon, { path: root, watch: false, pollEveryMs: 3_600_000 });
      return work({ folder, root, loadMs: await folder.load() });
    });
  } finally {
    await rm(root, { recursive: true, force: true });
    await store.remove();
  }
}

async function timeUnchanged(folder: ConnectedFolder, files: number): Promise<number> {
  const run = await folder.sync();
  if (run.itemsSkipped !== files) throw new Error(`The sync was to find ${files} unchanged: ${JSON.stringify(run)}.`);
  return run.durationMs;
}

async function timeWalk(root: string, files: number): Promise<number> {
  const started = performance.now();
  const paths = await walk(root);
  if (paths.length !== files) throw new Error(`The bare walk was to find ${files} files, it found ${paths.length}.`);
  return performance.now() - started;
}

async function timeChanged(folder: ConnectedFolder, root: string, files: number, round: number): Promise<number> {
  const changed = (await walk(root)).toSorted().filter((_, index) => index % Math.round(1 / changedShare) === round);
  for (const path of changed) await appendFile(path, `a line of round ${round}\n`);
  const run = await folder.sync();
  if (run.itemsSkipped !== files - changed.length)
    throw new Error(`The sync was to find ${changed.length} changed files of ${files}: ${JSON.stringify(run)}.`);
  return run.durationMs;
}
