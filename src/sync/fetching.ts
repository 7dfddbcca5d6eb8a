import { randomUUID } from 'node:crypto';
import type { PartitionKey } from '../store/partitions.ts';
import { lastOf } from '../base/collections.ts';
import { MemorydError } from '../base/errors.ts';
import { caught } from '../engine/caught.ts';
import { mayReadLater } from '../engine/ocr.ts';
import { roomIn } from '../store/quotas.ts';
import {
  claimItems,
  isWorkLeft,
  releaseItems,
  renewItems,
  suspectAfter,
  type ClaimedItem,
} from '../store/sync-claims.ts';
import { readItemDocuments } from '../store/sync-item-documents.ts';
import { createBreaker, type Breaker, type Trip } from '../source/breaker.ts';
import { commit, type Tally } from './commit.ts';
import type { FetchedDocument, Partition } from '../connector/contract.ts';
import { fetchGroup } from './fetch-group.ts';
import { readInline } from './fetched.ts';
import { restoreClaimed } from './ledger.ts';
import { inTurn, keyOf, type Run } from './run.ts';
import type { Supply } from './supply.ts';

export interface FetchOptions {
  supply: Supply;
  /** Nothing of the partition was mirrored before: its newest items come before everything else. */
  backfill: boolean;
}

/** How often the holder of a run looks whether others are done with their items. */
const lookMs = 250;
const leastBatch = 4;

/**
 * Fetches what the ledger says is due, batch by batch, while the listing goes on filling it. Each
 * batch becomes documents and finished ledger rows in one transaction, while the next one is
 * fetched. Ends early, with the reason, when too much fails.
 */
export async function fetchItems(run: Run, partition: Partition, options: FetchOptions): Promise<Trip | null> {
  const work: Work = {
    partition,
    key: keyOf(run, partition),
    breaker: createBreaker(),
    tally: { read: 0, same: 0 },
    storing: null,
    isFull: false,
  };
  try {
    return await fetchDue(run, work, options);
  } finally {
    await settle(work).catch(() => {});
  }
}

async function fetchDue(run: Run, work: Work, options: FetchOptions): Promise<Trip | null> {
  const { settings } = run;
  let size = settings.claimSize;
  let claimed = 0;
  let backlog = 0;
  for (;;) {
    run.signal.throwIfAborted();
    const ended = options.supply.ended();
    const room = await roomFor(run, work, size);
    if (room === 0) {
      // What the source no longer has is found and removed all the same.
      if (ended) return fullContainer(run);
      await options.supply.changed();
      continue;
    }
    const newest = options.backfill && claimed < settings.firstSlice;
    const limit = Math.min(room, newest ? Math.min(size, settings.firstSlice - claimed) : size);
    const batch = await inTurn(run, () => fetchBatch(run, work, { limit, newest }), newest ? 'first' : run.priority);
    const isSettled = work.storing === null;
    try {
      await settle(work);
    } finally {
      // A failure is thrown where the next batch waits for this one.
      work.storing = batch.store ? caught(batch.store()) : null;
    }
    const trip = work.breaker.trip();
    if (trip) {
      await settle(work);
      return trip;
    }
    claimed += batch.items;
    size = nextSize(size, batch.elapsedMs, settings);
    backlog = batch.items === limit ? backlog + limit : 0;
    if (backlog >= settings.joinBacklog) {
      backlog = 0;
      await run.company.invite();
    }
    // What has just been stored may have left something to do.
    if (batch.items > 0 || !isSettled) continue;
    if (!ended) await options.supply.changed();
    else if (await othersAtWork(run, work.key)) await run.clock.sleep(lookMs, run.signal);
    // Items that turned out not to be mirrored have left places under the document limit.
    else if ((await run.documentLimit.settle()) === 0) return null;
  }
}

/** How many items the container has room for. */
async function roomFor(run: Run, work: Work, wanted: number): Promise<number> {
  const room = work.isFull ? 0 : await roomIn(run.database, run.connection.containerTag);
  if (room === null || work.storing === null) return room ?? wanted;
  await settle(work);
  return roomFor(run, work, wanted);
}

/** Waits until what was fetched before is stored. */
async function settle(work: Work): Promise<void> {
  const { storing } = work;
  work.storing = null;
  await storing;
}

/** Items wait as they are until there is room. */
function fullContainer(run: Run): Trip {
  const { containerTag } = run.connection;
  return {
    reason: `The quota of container ${containerTag} is used up; items wait until there is room.`,
    outage: false,
  };
}

/** A slow source gets smaller batches, so that other connections do not wait long for their turn. */
function nextSize(size: number, elapsedMs: number, { claimSize, batchTargetMs }: Run['settings']): number {
  if (elapsedMs > batchTargetMs) return Math.max(Math.min(leastBatch, claimSize), Math.floor(size / 2));
  return elapsedMs < batchTargetMs / 4 ? Math.min(claimSize, size * 2) : size;
}

/** Items in the hands of others come back when they fail or die, so the run is not over before. */
async function othersAtWork(run: Run, key: PartitionKey): Promise<boolean> {
  return run.company.leads && isWorkLeft(run.database, key, run.clock.now());
}

interface Work {
  partition: Partition;
  key: PartitionKey;
  breaker: Breaker;
  tally: Tally;
  /** Until the batch before is stored. */
  storing: Promise<void> | null;
  /** A batch was more than the container may hold, and was given back. */
  isFull: boolean;
}

interface Batch {
  items: number;
  elapsedMs: number;
  /** Stores what was received last, and lets the items go. */
  store?(): Promise<void>;
}

async function fetchBatch(run: Run, work: Work, claim: { limit: number; newest: boolean }): Promise<Batch> {
  const { key } = work;
  const token = randomUUID();
  const now = run.clock.now();
  const leaseUntil = leaseEnd(run);
  const wanted = { ...claim, leaseToken: token, now, leaseUntil };
  const items = await run.hold.write((tx) => claimItems(tx, key, wanted));
  if (items.length === 0) return { items: 0, elapsedMs: 0 };
  const done = new AbortController();
  const renewal = keepLease(run, key, token, done.signal);
  const letGo = async () => {
    done.abort();
    await renewal;
  };
  const giveBack = async (error: unknown) => {
    try {
      // Whoever takes a connection over takes its items as well, so there would be nothing to give back.
      if (!run.hold.lost.aborted) await run.hold.write((tx) => releaseItems(tx, key, token, run.clock.now()));
    } finally {
      await letGo();
    }
    if (!isQuotaExceeded(error)) throw error;
    work.isFull = true;
  };
  try {
    // What workers were lost with is fetched while nothing else is under way that would be lost, and blamed, as well.
    if (items.some(({ lost_workers }) => lost_workers >= suspectAfter)) await settle(work);
    const store = await fetchClaimed(run, work, items, token);
    const elapsedMs = run.clock.now().getTime() - now.getTime();
    return { items: items.length, elapsedMs, store: () => store().then(letGo, giveBack) };
  } catch (error) {
    await giveBack(error);
    return { items: items.length, elapsedMs: 0 };
  }
}

const isQuotaExceeded = (error: unknown) => MemorydError.is(error) && error.code === 'quota_exceeded';

/** Stores all groups but the last, of which it answers how to store it. */
async function fetchClaimed(
  run: Run,
  work: Work,
  items: readonly ClaimedItem[],
  token: string,
): Promise<() => Promise<void>> {
  const { key, partition, breaker } = work;
  const fresh = items.filter((item) => item.document_id === null).map((item) => item.ext_id);
  const restored = await restoreClaimed(run, key, fresh, token);
  const wanted = items.filter((item) => !restored.has(item.ext_id));
  const contents = await keptContents(run, key, wanted);
  let store = async () => {};
  for (const group of groupBySize(wanted, run.settings.groupBytes)) {
    await store();
    const { outcomes, stopped } = await fetchGroup(run, partition, group, contents);
    // The source has no part in it when only a picture could not be read.
    for (const one of outcomes) breaker.add(one.kind === 'failed' && !mayReadLater(one.error) ? one.error : undefined);
    store = () => commit(run, key, outcomes, { leaseToken: token, tally: work.tally });
    if (!stopped) continue;
    // What was received before something stopped the group is not thrown away.
    await store();
    throw stopped.error;
  }
  return store;
}

function leaseEnd(run: Run): Date {
  return new Date(run.clock.now().getTime() + run.settings.itemLeaseMs);
}

async function keepLease(run: Run, key: PartitionKey, token: string, done: AbortSignal): Promise<void> {
  for (;;) {
    await run.clock.sleep(run.settings.itemLeaseMs / 3, done);
    if (done.aborted) return;
    await run.hold
      .write((tx) => renewItems(tx, key, { token, until: leaseEnd(run) }))
      .catch((error: unknown) =>
        run.log.warn({ err: error, connectionId: key.connectionId }, 'lease of items could not be renewed'),
      );
  }
}

/** Content that came with the listing, by item; only of the revision that is wanted. */
async function keptContents(
  run: Run,
  key: PartitionKey,
  items: readonly ClaimedItem[],
): Promise<Map<string, FetchedDocument>> {
  const revs = new Map(items.filter((item) => item.ref['inline'] === true).map((item) => [item.ext_id, item.want_rev]));
  if (revs.size === 0) return new Map();
  const rows = await readItemDocuments(run.database, key, [...revs.keys()]);
  const current = rows.filter((row) => revs.get(row.ext_id) === row.rev);
  return new Map(current.map((row) => [row.ext_id, readInline(row.document)]));
}

/** Groups whose sizes add up to no more than `maxBytes`, so that a few large files do not fill the memory. */
function groupBySize(items: readonly ClaimedItem[], maxBytes: number): ClaimedItem[][] {
  const groups: ClaimedItem[][] = [];
  let bytes = Infinity;
  for (const item of items) {
    const size = Number(item.ref['size'] ?? 0);
    if (bytes + size > maxBytes) {
      groups.push([]);
      bytes = 0;
    }
    lastOf(groups).push(item);
    bytes += size;
  }
  return groups;
}
