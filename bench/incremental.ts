import { createCrashingDatabase } from '../src/connector-kit/crashing-database.ts';
import { openBenchDatabase, type Engine } from './databases.ts';
import { createListedSource } from './listed-source.ts';
import type { Figure } from './report.ts';
import { createSynced } from './synced.ts';

/**
 * An incremental sync without any change, in a small and in a large corpus: how many requests it sends
 * and how many statements it runs. Throws when the number depends on the size.
 */
export async function benchIncremental(engine: Engine, items: number): Promise<Figure> {
  const small = await countUnchanged(engine, Math.ceil(items / 100));
  const large = await countUnchanged(engine, items);
  if (JSON.stringify(small) !== JSON.stringify(large)) {
    throw new Error(`A larger corpus costs more: ${JSON.stringify({ small, large })}.`);
  }
  return {
    name: `incremental sync of ${items} unchanged items, ${engine}`,
    value: `${large.requests} source request, ${large.statements} statements`,
    limit: `one request, whatever the size`,
    ratio: large.requests,
    better: 'smaller',
    target: 1,
  };
}

async function countUnchanged(engine: Engine, items: number): Promise<{ requests: number; statements: number }> {
  const { database, close } = await openBenchDatabase(engine);
  try {
    const { connector, asked } = createListedSource({ items, textOf: (index) => `text ${index}`, incremental: true });
    const synced = await createSynced(database, connector);
    await synced.sync('full');
    await synced.sync('incremental');
    asked.requests = 0;
    let statements = 0;
    const used = createCrashingDatabase(database, {
      statement: (change) => void (statements += change === 1 ? 1 : 0),
      commit: () => {},
    });
    await synced.sync('incremental', { used });
    return { requests: asked.requests, statements };
  } finally {
    await close();
  }
}
