import { rawSql } from '../src/store/sql.ts';
import { createRandom, makeText } from './corpus.ts';
import { openBenchDatabase, type Engine } from './databases.ts';
import { createListedSource } from './listed-source.ts';
import { median, type Figure } from './report.ts';
import { createSynced } from './synced.ts';

const bytes = 2_048;
const rounds = 3;
/** Documents in a second that are good enough. */
const target = 500;

/** A first sync of texts until all of them are queued documents. Nothing is embedded. */
export async function benchFetchQueued(engine: Engine, items: number): Promise<Figure> {
  const perSecond: number[] = [];
  for (let round = 0; round < rounds; round++) perSecond.push(await syncOnce(engine, items));
  const rate = median(perSecond);
  return {
    name: `${items} texts of 2 KB, listed, fetched and queued, ${engine}`,
    value: `${rate.toFixed(0)} documents/s`,
    limit: `${target} documents/s`,
    ratio: rate / target,
    better: 'larger',
    target: 1,
  };
}

async function syncOnce(engine: Engine, items: number): Promise<number> {
  const { database, close } = await openBenchDatabase(engine);
  try {
    const random = createRandom(7);
    const texts = Array.from({ length: items }, () => makeText(random, bytes));
    const { connector } = createListedSource({ items, textOf: (index) => texts[index]!, incremental: false });
    const synced = await createSynced(database, connector);
    const started = performance.now();
    await synced.sync('full');
    const elapsedMs = performance.now() - started;
    const [row] = await database.query<{ queued: number }>(
      rawSql(`select count(*) as queued from documents where status = 'queued'`),
    );
    if (row?.queued !== items) throw new Error(`${row?.queued} of ${items} documents are queued.`);
    return (items * 1_000) / elapsedMs;
  } finally {
    await close();
  }
}
