import { startDaemon, type Daemon } from '../test/support/daemon.ts';
import type { BenchStore } from './databases.ts';

const key = 'key-of-the-benchmark';

/** Works with the real program on a store that is filled already, and stops it. */
export async function withDaemon<T>(store: BenchStore, work: (daemon: Daemon) => Promise<T>): Promise<T> {
  const daemon = await startDaemon({
    dataDir: store.dataDir,
    env: {
      MEMORYD_API_KEY: key,
      MEMORYD_EMBEDDER_KIND: 'hashing',
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
