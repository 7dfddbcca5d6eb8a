import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Connector } from '../src/connector/contract.ts';
import type { Database } from '../src/store/database.ts';
import { sql } from '../src/store/sql.ts';
import { openBenchDatabase, type Engine } from './databases.ts';
import { createListedSource } from './listed-source.ts';
import { againstLeast, median, type Figure } from './report.ts';
import { createSynced } from './synced.ts';

const rowsPerStatement = 1_000;
const rounds = 3;
/** Refs in a second that are good enough. */
const targets: Record<Engine, number> = { postgres: 20_000, pglite: 5_000 };

/**
 * A first listing into the ledger, without fetching anything, against the same rows inserted bare; and
 * what the process holds while a second listing finds nothing changed.
 */
export async function benchListing(engine: Engine, items: number): Promise<Figure[]> {
  const perSecond: number[] = [];
  const bare: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const { database, close } = await openBenchDatabase(engine);
    try {
      perSecond.push(await listOnce(database, items));
      bare.push(await insertBare(database, items));
    } finally {
      await close();
    }
  }
  const rate = median(perSecond);
  return [
    {
      name: `listing and ledger of ${items} refs, ${engine}`,
      value: `${rate.toFixed(0)} refs/s`,
      ...againstLeast(`bare insert ${median(bare).toFixed(0)} rows/s`, rate / median(bare)),
      better: 'larger',
      target: null,
    },
    {
      name: `the same against ${targets[engine]} refs/s, ${engine}`,
      value: `${rate.toFixed(0)} refs/s`,
      limit: `${targets[engine]} refs/s`,
      ratio: rate / targets[engine],
      better: 'larger',
      target: 1,
    },
    await heldByReconcile(engine, items),
  ];
}

/** Refs per second until the listing has ended. */
async function listOnce(database: Database, items: number): Promise<number> {
  const { connector } = createListedSource({ items, textOf: (index) => `text ${index}`, incremental: false });
  const stop = new AbortController();
  const synced = await createSynced(database, neverFetching(connector, stop.signal));
  const started = performance.now();
  const run = synced.sync('full', { signal: stop.signal });
  let elapsedMs = 0;
  while (!stop.signal.aborted) {
    await delay(2);
    const [partition] = await database.query<{ listed: boolean }>(
      sql`select last_listed_at is not null as listed from partitions where connection_id = ${synced.id}`,
    );
    if (!partition?.listed) continue;
    elapsedMs = performance.now() - started;
    stop.abort();
  }
  await run;
  return (items * 1_000) / elapsedMs;
}

/** Its items are never fetched, so that the listing has the machine to itself. */
function neverFetching(connector: Connector<any, any>, signal: AbortSignal): Connector<any, any> {
  const { fetchMany: _, ...others } = connector;
  const until = new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new Error('the listing is over')));
  });
  until.catch(() => {});
  return { ...others, fetch: () => until };
}

/** Rows per second of the least that a ledger could store of each ref. */
async function insertBare(database: Database, items: number): Promise<number> {
  await database.script(`
    create table bare_items (
      connection_id text collate "C", partition_id text collate "C", ext_id text collate "C", rev text,
      primary key (connection_id, partition_id, ext_id))`);
  const started = performance.now();
  for (let start = 0; start < items; start += rowsPerStatement) {
    const count = Math.min(rowsPerStatement, items - start);
    const ids = Array.from({ length: count }, (_, index) => `item-${String(start + index).padStart(7, '0')}`);
    await database.execute(sql`
      insert into bare_items select 'connection', 'all', id, 'r1' from unnest(${ids}::text[]) as id`);
  }
  const elapsedMs = performance.now() - started;
  await database.script('drop table bare_items');
  return (items * 1_000) / elapsedMs;
}

const heldLimitMb = 50;

/**
 * By how much the process grows during an unchanged listing, all of its threads with it, and the most that is
 * reachable on the main thread at the end of a page.
 */
async function heldByReconcile(engine: Engine, items: number): Promise<Figure> {
  const { database, close } = await openBenchDatabase(engine);
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  try {
    const { connector } = createListedSource({ items, textOf: (index) => `text ${index}`, incremental: false });
    const synced = await createSynced(database, connector);
    await synced.sync('full');
    const held = () => {
      collect();
      const { heapUsed, external } = process.memoryUsage();
      return (heapUsed + external) / 1e6;
    };
    const before = held();
    const residentBefore = process.memoryUsage.rss();
    let [most, resident] = [0, 0];
    let pages = 0;
    const { list } = connector;
    connector.list = async (context, partition, from) => {
      if (++pages % 10 === 5) most = Math.max(most, held() - before);
      resident = Math.max(resident, (process.memoryUsage.rss() - residentBefore) / 1e6);
      return list(context, partition, from);
    };
    await synced.sync('full');
    return {
      name: `growth of the process in an unchanged listing of ${items} items, ${engine}`,
      value: `${resident.toFixed(1)} MB resident; ${most.toFixed(1)} MB reachable on the main thread`,
      limit: `${heldLimitMb} MB`,
      ratio: resident / heldLimitMb,
      better: 'smaller',
      target: 1,
    };
  } finally {
    await close();
  }
}
