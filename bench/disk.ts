import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { databaseBytes } from '../src/store/database.ts';
import { withDaemon } from './daemon.ts';
import { makeBenchStore, type BenchStore, type Engine } from './databases.ts';
import { loadFolder } from './first-load.ts';
import type { Figure } from './report.ts';

const targetMb = 10;

/** By how much a store grows with documents of 2 KB, after its daemon has stopped. */
export async function benchDisk(engine: Engine, files: number): Promise<Figure> {
  const store = await makeBenchStore(engine);
  try {
    await withDaemon(store, async () => {});
    const emptyMb = await sizeMb(store);
    await loadFolder(store, files);
    const fullMb = await sizeMb(store);
    const target = (targetMb * files) / 1_000;
    return {
      name: `disk for ${files} documents of 2 KB, ${engine}`,
      value: `${(fullMb - emptyMb).toFixed(1)} MB (from ${emptyMb.toFixed(1)} to ${fullMb.toFixed(1)} MB)`,
      limit: `${target.toFixed(1)} MB`,
      ratio: (fullMb - emptyMb) / target,
      better: 'smaller',
      target: 1,
    };
  } finally {
    await store.remove();
  }
}

/** The data directory as it lies on the disk, or the database as its server says. */
async function sizeMb(store: BenchStore): Promise<number> {
  if (store.databaseUrl === null) {
    const { stdout } = await promisify(execFile)('du', ['--summarize', '--block-size=1', store.dataDir]);
    return Number.parseInt(stdout, 10) / 1_000_000;
  }
  const database = await store.open();
  try {
    return (await databaseBytes(database))! / 1_000_000;
  } finally {
    await database.close();
  }
}
