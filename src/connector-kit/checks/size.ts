import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { sql } from '../../store/sql.ts';
import { needsAsking, type Check } from '../check.ts';
import type { Harness } from '../harness.ts';

/** 50 MB for 100,000 items, of which some are for what does not grow with them. */
const limitMb = (items: number) => 10 + (40 * items) / 100_000;
/** Pages between two measurements, each of which takes some 50 ms. */
const measureEvery = 10;

/** Check 18: what a sync holds in memory does not grow with the source. */
export const sizeChecks: readonly Check[] = [
  {
    number: 18,
    name: 'memory',
    missing: needsAsking,
    title: 'a listing holds less than 50 MB for 100000 items',
    pages: 'full',
    timeoutMs: 300_000,
    async run(harness, { manyItems: items }) {
      if (harness.world.fill) await harness.world.fill(items);
      else for (let index = 0; index < items; index++) await harness.world.create(`bulk-${index}`, `text ${index}`);
      for (const round of ['first', 'second']) {
        harness.note(`It was the ${round} listing.`);
        const heldMb = await measureListing(harness, items);
        harness.expect(heldMb < limitMb(items), `The process held ${heldMb.toFixed(1)} MB more than before.`);
      }
      // Other checks look at whole tables.
      await harness.database.execute(sql`delete from connections where id = ${harness.connectionId()}`);
    },
  },
];

/** The most that is held at the end of a page. Items are not fetched: only what lists them is measured. */
async function measureListing(harness: Harness, items: number): Promise<number> {
  const stop = new AbortController();
  const stopped = new Promise<never>((_resolve, reject) => {
    stop.signal.addEventListener('abort', () => reject(new Error('the listing is over')));
  });
  stopped.catch(() => {});
  const collect = collector();
  const before = heldBytes(collect);
  let [pages, listed, most] = [0, 0, 0];
  harness.interfere({
    before: (call) => (call.verb === 'fetch' || call.verb === 'fetchMany' ? stopped : undefined),
    after(call, page) {
      if (call.verb !== 'list') return page;
      listed += page.refs.length;
      if (++pages % measureEvery === 0) most = Math.max(most, heldBytes(collect) - before);
      return page;
    },
  });
  const stopping = stopWhenListed(harness, stop);
  await harness.sync({ mode: 'full', signal: stop.signal }).finally(() => stop.abort());
  await stopping;
  harness.expect(listed >= items, `${listed} of ${items} items were listed.`);
  harness.interfere({});
  return most / 1e6;
}

/** Nothing is fetched, so that the run would go on for ever. */
async function stopWhenListed(harness: Harness, stop: AbortController): Promise<void> {
  const listed = () =>
    harness.database.query<{ id: string; at: Date | null; isListing: boolean }>(sql`
      select id, last_listed_at as at, listing_started_at is not null as "isListing" from partitions
      where connection_id = ${harness.connectionId()}`);
  const before = new Map((await listed()).map(({ id, at }) => [id, at?.getTime()]));
  harness.clock.advance(1_000);
  while (!stop.signal.aborted) {
    await delay(50);
    const rows = await listed();
    // Partitions do not begin at the same time: one may be listed before another one begins.
    const isOver = rows.every(({ id, at, isListing }) => at && !isListing && at.getTime() !== before.get(id));
    if (rows.length > 0 && isOver) stop.abort();
  }
}

/** Reachable bytes, inside and outside of the heap: the size of a process depends on when V8 chose to collect. */
function heldBytes(collect: () => void): number {
  collect();
  // What the first one found dead outside of the heap is given back beside the program, and counted until then.
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

function collector(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}
