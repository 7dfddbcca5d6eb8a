import { systemClock } from '../src/base/clock.ts';
import { startDaemon, type Daemon } from '../test/support/daemon.ts';
import { call } from '../test/support/memory-of.ts';
import { makeBenchStore, type Engine } from './databases.ts';
import { seconds, type Figure } from './report.ts';

const key = 'key-of-the-benchmark';
const idleReads = 1_000;
const pauseMs = 5;
const patienceMs = 300_000;
const paragraph = 'The harbour crane lifts containers at dawn, and the bakery beside it sells bread before six. ';

/** How long reads take (99th percentile) while documents are processed with the default model, against an idle daemon. */
export async function benchReadsUnderLoad(engine: Engine, documents: number): Promise<Figure> {
  const store = await makeBenchStore(engine);
  const daemon = await startDaemon({
    dataDir: store.dataDir,
    env: {
      MEMORYD_API_KEY: key,
      MEMORYD_LOG_LEVEL: 'warn',
      ...(store.databaseUrl === null ? {} : { MEMORYD_DATABASE_URL: store.databaseUrl }),
    },
  });
  try {
    const { id } = await call(daemon, 'POST', '/v3/documents', { content: paragraph, containerTag: 'read' });
    await untilIdle(daemon);
    const idleMs: number[] = [];
    await readWhile(daemon, id, idleMs, () => idleMs.length < idleReads);
    let isLoaded = true;
    const loaded = load(daemon, documents).finally(() => (isLoaded = false));
    const loadedMs: number[] = [];
    await readWhile(daemon, id, loadedMs, () => isLoaded);
    await loaded;
    return {
      name: `reads while ${documents} documents are processed, ${engine}`,
      value: `p99 ${seconds(p99(loadedMs))} (p50 ${seconds(p50(loadedMs))}, ${loadedMs.length} reads)`,
      limit: `idle p99 ${seconds(p99(idleMs))} (p50 ${seconds(p50(idleMs))})`,
      ratio: p99(loadedMs) / p99(idleMs),
      better: 'smaller',
      target: 3,
    };
  } finally {
    await daemon.stop();
    await store.remove();
  }
}

/** By turns a document by its id, and a list. */
async function readWhile(daemon: Daemon, id: string, durations: number[], goesOn: () => boolean): Promise<void> {
  for (let count = 0; goesOn(); count++) {
    const started = performance.now();
    if (count % 2 === 0) await call(daemon, 'GET', `/v3/documents/${id}`);
    else await call(daemon, 'POST', '/v3/documents/list', { containerTag: 'read' });
    durations.push(performance.now() - started);
    await systemClock.sleep(pauseMs);
  }
}

async function load(daemon: Daemon, count: number): Promise<void> {
  for (let start = 0; start < count; start += 100) {
    const documents = Array.from({ length: Math.min(100, count - start) }, (_, index) => ({
      content: `Number ${start + index}. ${paragraph.repeat(20)}`,
      containerTag: 'load',
    }));
    await call(daemon, 'POST', '/v3/documents/batch', { documents });
  }
  await untilIdle(daemon);
}

async function untilIdle(daemon: Daemon): Promise<void> {
  const started = performance.now();
  while ((await call(daemon, 'GET', '/v3/documents/processing')).totalCount > 0) {
    if (performance.now() - started > patienceMs) throw new Error('The documents were not processed in time.');
    await systemClock.sleep(200);
  }
}

const percentile = (values: readonly number[], share: number) =>
  values.toSorted((left, right) => left - right)[Math.floor(values.length * share)] ?? 0;
const p50 = (values: readonly number[]) => percentile(values, 0.5);
const p99 = (values: readonly number[]) => percentile(values, 0.99);
