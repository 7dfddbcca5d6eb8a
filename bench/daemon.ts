import { tmpdir } from 'node:os';
import { startDaemon, type Daemon } from '../test/support/daemon.ts';
import { systemClock } from '../src/base/clock.ts';
import { call } from '../test/support/memory-of.ts';
import type { BenchStore } from './databases.ts';

const key = 'key-of-the-benchmark';

/** Works with the real program on a store that is filled already, and stops it. */
export async function withDaemon<T>(
  store: BenchStore,
  work: (daemon: Daemon) => Promise<T>,
  model: 'no model' | 'default model' = 'no model',
): Promise<T> {
  const daemon = await startDaemon({
    dataDir: store.dataDir,
    env: {
      MEMORYD_API_KEY: key,
      ...(model === 'no model' && { MEMORYD_EMBEDDER_KIND: 'hashing' }),
      MEMORYD_FOLDER_ROOTS: tmpdir(),
      MEMORYD_LOG_LEVEL: 'warn',
      ...(store.databaseUrl === null ? {} : { MEMORYD_DATABASE_URL: store.databaseUrl }),
    },
  });
  try {
    return await work(daemon);
  } finally {
    await daemon.stop();
  }
}

const lookEveryMs = 100;
const patienceMs = 900_000;

/** Asks again and again until it is so. */
export async function until(isSo: () => Promise<boolean>): Promise<void> {
  const begun = performance.now();
  while (!(await isSo())) {
    if (performance.now() - begun > patienceMs) throw new Error('The daemon was not ready in time.');
    await systemClock.sleep(lookEveryMs);
  }
}

/** Resolves when all documents of the daemon are done or have failed. */
export function untilProcessed(daemon: Daemon): Promise<void> {
  return until(async () => (await call(daemon, 'GET', '/v3/documents/processing')).totalCount === 0);
}
