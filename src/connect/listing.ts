import { countDisappeared, matchRenames, type PartitionKey } from '../store/sync-items.ts';
import {
  finishListing,
  listingCheckpoint,
  startListing,
  type HeldSweep,
  type PartitionRow,
} from '../store/partitions.ts';
import type { Json, Page, Partition } from './contract.ts';
import { recordListed, sweep } from './ledger.ts';
import { keyOf, type Run } from './run.ts';

/**
 * Lists a partition from where it stopped to its end, then sweeps what the listing no longer shows.
 * The position is taken before the first page, so that changes during the listing are replayed
 * after it. `onPage` is called after each page, when its items can be fetched.
 */
export async function listPartition(
  run: Run,
  partition: Partition,
  row: PartitionRow,
  onPage: () => void,
): Promise<void> {
  const key = keyOf(run, partition);
  const resuming = row.listingStartedAt !== null;
  const epoch = resuming ? row.epoch : await begin(run, partition, row);
  let cursor = (resuming ? (row.listingCursor ?? undefined) : undefined) as Json | undefined;
  let incomplete = resuming ? row.listingIncomplete : null;
  let listed = list(run, partition, cursor);
  for (let done = false; !done;) {
    const page = await listed;
    run.signal.throwIfAborted();
    cursor = page.next ?? undefined;
    done = page.done === true || cursor === undefined;
    incomplete ??= page.incomplete ?? null;
    // The next page is read while this one is recorded.
    if (!done) listed = list(run, partition, cursor);
    const checkpoint = listingCheckpoint(key, { cursor: cursor ?? null, incomplete, now: run.clock.now() });
    await recordListed(run, key, page, { epoch, checkpoint });
    onPage();
  }
  run.counters.itemsTotal ??= run.counters.itemsSeen;
  await end(run, key, row, { epoch, incomplete });
  onPage();
}

/** One page. Its failure is seen when it is awaited, which may be after that of the page before. */
function list(run: Run, partition: Partition, cursor: Json | undefined): Promise<Page<any>> {
  const page = run.connector.list(run.context, partition, cursor);
  page.catch(() => {});
  return page;
}

async function begin(run: Run, partition: Partition, row: PartitionRow): Promise<number> {
  const head = run.connector.head ? await run.connector.head(run.context, partition) : null;
  const now = run.clock.now();
  return startListing(run.database, keyOf(run, partition), { head, relist: row.state !== 'new', now });
}

async function end(
  run: Run,
  key: PartitionKey,
  row: PartitionRow,
  listing: { epoch: number; incomplete: string | null },
): Promise<void> {
  const { epoch, incomplete } = listing;
  const missing = { notSeenIn: incomplete === null ? epoch : 0 };
  await run.database.transaction((tx) => matchRenames(tx, key, missing, run.clock.now()));
  let held: HeldSweep | null = row.heldSweep;
  if (incomplete === null) {
    held = await brake(run, key, row.heldSweep, epoch);
    if (held === null) await sweep(run, key, { notSeenIn: epoch });
  } else {
    run.log.info({ connectionId: key.connectionId, reason: incomplete }, 'listing is not complete, nothing is removed');
  }
  await finishListing(run.database, key, { heldSweep: held, now: run.clock.now() });
}

/**
 * Holds a sweep that would remove everything, or more than `brakeItems` and `brakeShare` of the
 * partition, until somebody confirms it or a second listing, some time later, misses the same items.
 */
async function brake(run: Run, key: PartitionKey, held: HeldSweep | null, epoch: number): Promise<HeldSweep | null> {
  const { gone, total, digest } = await countDisappeared(run.database, key, epoch);
  if (gone === 0 || held?.confirmed) return null;
  const { brakeItems, brakeShare, brakeReleaseMs } = run.settings;
  if (gone < total && gone <= Math.max(brakeItems, total * brakeShare)) return null;
  const now = run.clock.now();
  const same = held !== null && held.digest === digest;
  if (same && now.getTime() - Date.parse(held.heldAt) >= brakeReleaseMs) return null;
  if (same) return held;
  run.log.warn({ connectionId: key.connectionId, gone, total }, 'sweep held: too much would be removed');
  return { count: gone, of: total, digest, heldAt: now.toISOString() };
}
