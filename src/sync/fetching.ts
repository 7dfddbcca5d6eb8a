import { randomUUID } from 'node:crypto';
import { lastOf } from '../base/collections.ts';
import { MemorydError } from '../base/errors.ts';
import { caught } from '../base/concurrency.ts';
import { mayReadLater } from '../engine/ocr.ts';
import { roomIn } from '../store/quotas.ts';
import { claimItems, isWorkLeft, releaseItems, renewItems, suspectAfter, type ClaimedItem } from '../store/leases.ts';
import { readItemDocuments } from '../store/listed-pages.ts';
import { createBreaker, type Breaker, type BreakerTrip } from './failure.ts';
import { commit, type Committed, fetchGroup } from './fetch-group.ts';
import type { FetchedDocument } from '../connector/contract.ts';
import { readInline } from './check-item.ts';
import type { Ledger, PartitionRows, FetchingParts, PartitionRun, RunSettings } from './run.ts';
import { restoreItems } from '../store/hidden-documents.ts';

interface FetchOptions {
  supply: Supply;
  /** Nothing of the partition was mirrored before: its newest items come before everything else. */
  backfill: boolean;
}

interface FetchResult {
  /** Why it ended early; null when it did not. */
  trip: BreakerTrip | null;
  /** Stored content showed items that no listing has shown. */
  showsUnlisted: boolean;
}

/** How often the holder of a run looks whether others are done with their items. */
const lookMs = 250;
const leastBatch = 4;

/**
 * Fetches what the ledger says is due, batch by batch, while the listing goes on filling it. Each
 * batch becomes documents and finished ledger rows in one transaction, while the next one is
 * fetched. Ends early, with the reason, when too much fails.
 */
export async function fetchItems(
  part: PartitionRun,
  parts: FetchingParts,
  options: FetchOptions,
): Promise<FetchResult> {
  const stored: Committed = { readAgain: 0, same: 0, showsUnlisted: false };
  const work: Fetching = { ...part, ...parts, breaker: createBreaker(), stored, storing: null, isFull: false };
  try {
    const trip = await fetchDue(work, options);
    return { trip, showsUnlisted: stored.showsUnlisted };
  } finally {
    await settle(work).catch(() => {});
  }
}

async function fetchDue(work: Fetching, options: FetchOptions): Promise<BreakerTrip | null> {
  const { settings, ledger, team } = work;
  const { clock, signal, documentLimit } = ledger;
  let size = settings.claimSize;
  let claimed = 0;
  let backlog = 0;
  for (;;) {
    signal.throwIfAborted();
    const ended = options.supply.ended();
    const room = await roomFor(work, size);
    if (room === 0) {
      // What the source no longer has is found and removed all the same.
      if (ended) return fullContainer(ledger);
      await options.supply.changed();
      continue;
    }
    const newest = options.backfill && claimed < settings.firstSlice;
    const limit = Math.min(room, newest ? Math.min(size, settings.firstSlice - claimed) : size);
    const batch = await work.inSlot(() => fetchBatch(work, { limit, newest }), newest ? 'first' : work.priority);
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
      await team.invite();
    }
    if (batch.items === limit) continue;
    if (!ended) {
      // While this batch is stored the next pages come in, so that few changes in many pages make few batches.
      await settle(work);
      await options.supply.changed();
      continue;
    }
    // What has just been stored may have left something to do.
    if (batch.items > 0 || !isSettled) continue;
    if (await othersAtWork(work)) await clock.sleep(lookMs, signal);
    // Items that turned out not to be mirrored have left places under the document limit.
    else if ((await documentLimit.settle()) === 0) return null;
  }
}

/** How many items the container has room for. */
async function roomFor(work: Fetching, wanted: number): Promise<number> {
  const { database, connection } = work.ledger;
  const room = work.isFull ? 0 : await roomIn(database, connection.containerTag);
  if (room === null || work.storing === null) return room ?? wanted;
  await settle(work);
  return roomFor(work, wanted);
}

/** Waits until what was fetched before is stored. */
async function settle(work: Fetching): Promise<void> {
  const { storing } = work;
  work.storing = null;
  await storing;
}

/** Items wait as they are until there is room. */
function fullContainer({ connection }: Ledger): BreakerTrip {
  return {
    reason: `The quota of container ${connection.containerTag} is used up; items wait until there is room.`,
    outage: false,
  };
}

/** A slow source gets smaller batches, so that other connections do not wait long for their turn. */
function nextSize(size: number, elapsedMs: number, { claimSize, batchTargetMs }: RunSettings): number {
  if (elapsedMs > batchTargetMs) return Math.max(Math.min(leastBatch, claimSize), Math.floor(size / 2));
  return elapsedMs < batchTargetMs / 4 ? Math.min(claimSize, size * 2) : size;
}

/** Items in the hands of others come back when they fail or die, so the run is not over before. */
async function othersAtWork({ team, ledger }: Fetching): Promise<boolean> {
  return team.leads && isWorkLeft(ledger.database, ledger.key, ledger.clock.now());
}

interface Fetching extends PartitionRun, FetchingParts {
  breaker: Breaker;
  /** What came of all batches until now. */
  stored: Committed;
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

async function fetchBatch(work: Fetching, claim: { limit: number; newest: boolean }): Promise<Batch> {
  const { ledger, settings } = work;
  const { key, lease, clock } = ledger;
  const token = randomUUID();
  const now = clock.now();
  const leaseUntil = leaseEnd(now, settings);
  const wanted = { ...claim, leaseToken: token, now, leaseUntil };
  const items = await lease.write((tx) => claimItems(tx, key, wanted));
  if (items.length === 0) return { items: 0, elapsedMs: 0 };
  const done = new AbortController();
  const renewal = keepLease(work, token, done.signal);
  const letGo = async () => {
    done.abort();
    await renewal;
  };
  const giveBack = async (error: unknown) => {
    try {
      // Whoever takes a connection over takes its items as well, so there would be nothing to give back.
      if (!lease.lost.aborted) await lease.write((tx) => releaseItems(tx, key, token, clock.now()));
    } finally {
      await letGo();
    }
    if (!isQuotaExceeded(error)) throw error;
    work.isFull = true;
  };
  try {
    // What workers were lost with is fetched while nothing else is under way that would be lost, and blamed, as well.
    if (items.some(({ lostWorkers }) => lostWorkers >= suspectAfter)) await settle(work);
    const store = await fetchClaimed(work, items, token);
    const elapsedMs = clock.now().getTime() - now.getTime();
    return { items: items.length, elapsedMs, store: () => store().then(letGo, giveBack) };
  } catch (error) {
    await giveBack(error);
    return { items: items.length, elapsedMs: 0 };
  }
}

const isQuotaExceeded = (error: unknown) => MemorydError.is(error) && error.code === 'quota_exceeded';

/** Stores all groups but the last, of which it answers how to store it. */
async function fetchClaimed(
  work: Fetching,
  items: readonly ClaimedItem[],
  token: string,
): Promise<() => Promise<void>> {
  const { ledger, settings, breaker } = work;
  const fresh = items.filter((item) => item.documentId === null).map((item) => item.extId);
  const restored = await restoreClaimed(ledger, fresh, token);
  if (restored.waiting > 0) await work.wake(restored.waiting);
  const wanted = items.filter((item) => !restored.ids.has(item.extId));
  const contents = await keptContents(ledger, wanted);
  let store = async () => {};
  for (const group of groupBySize(wanted, settings.groupBytes)) {
    await store();
    const { outcomes, stopped } = await fetchGroup(work, group, contents);
    // The source has no part in it when only a picture could not be read.
    for (const one of outcomes) breaker.add(one.kind === 'failed' && !mayReadLater(one.error) ? one.error : undefined);
    store = async () => noteStored(work, await commit(work, outcomes, token));
    if (!stopped) continue;
    // What was received before something stopped the group is not thrown away.
    await store();
    throw stopped.error;
  }
  return store;
}

const suspiciousItems = 20;
const suspiciousShare = 0.8;

/** A rev that changes without the content costs a download at every sync; only the connector can mend it. */
function noteStored({ stored, source, ledger }: Fetching, more: Committed): void {
  stored.readAgain += more.readAgain;
  stored.same += more.same;
  stored.showsUnlisted ||= more.showsUnlisted;
  const { readAgain, same } = stored;
  if (source.spec.revs === 'loose' || same < suspiciousItems || same < readAgain * suspiciousShare) return;
  const message = `${same} of ${readAgain} items that were read again had the same content as before. Their rev changes although nothing else does, so each sync downloads them; this is to be mended in the connector.`;
  ledger.report.warn(ledger.key.partitionId, 'unstable_revisions', message);
}

function leaseEnd(now: Date, { itemLeaseMs }: RunSettings): Date {
  return new Date(now.getTime() + itemLeaseMs);
}

async function keepLease({ ledger, settings }: Fetching, token: string, done: AbortSignal): Promise<void> {
  const { key, lease, clock, log } = ledger;
  for (;;) {
    await clock.sleep(settings.itemLeaseMs / 3, done);
    if (done.aborted) return;
    await lease
      .write((tx) => renewItems(tx, key, { token, until: leaseEnd(clock.now(), settings) }))
      .catch((error: unknown) =>
        log.warn({ err: error, connectionId: key.connectionId }, 'lease of items could not be renewed'),
      );
  }
}

/** Content that came with the listing, by item; only of the revision that is wanted. */
async function keptContents(
  { key, database }: PartitionRows,
  items: readonly ClaimedItem[],
): Promise<Map<string, FetchedDocument>> {
  const revs = new Map(items.filter((item) => item.ref['inline'] === true).map((item) => [item.extId, item.wantRev]));
  if (revs.size === 0) return new Map();
  const rows = await readItemDocuments(database, key, [...revs.keys()]);
  const current = rows.filter((row) => revs.get(row.extId) === row.rev);
  return new Map(current.map((row) => [row.extId, readInline(row.document)]));
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

/**
 * Of claimed items, those whose removed document is just what the source shows get it back without
 * being read. Answers the ids of these, and
 * how many of their documents wait for being processed.
 */
async function restoreClaimed(
  ledger: Ledger,
  ids: readonly string[],
  leaseToken: string,
): Promise<{ ids: Set<string>; waiting: number }> {
  if (ids.length === 0) return { ids: new Set(), waiting: 0 };
  const { containerTag } = ledger.connection;
  const options = { leaseToken, containerTag, now: ledger.clock.now() };
  const restored = await ledger.lease.write((tx) => restoreItems(tx, ledger.key, ids, options));
  ledger.report.counters.itemsAdded += restored.length;
  const waiting = restored.filter((one) => !['done', 'failed'].includes(one.status)).length;
  return { ids: new Set(restored.map((one) => one.extId)), waiting };
}

/** Tells the fetching side of a run that there may be more to claim, and that nothing will be added any more. */
interface Supply {
  /** Resolves when pages were added since the last call, or the supply ended. */
  changed(): Promise<void>;
  ended(): boolean;
}

/** Joins the listing side and the fetching side: one tells, the other waits. */
export function createSupply(): Supply & { added: () => void; end: () => void } {
  let fresh = false;
  let over = false;
  let wake: (() => void) | null = null;

  function notify(): void {
    fresh = true;
    wake?.();
    wake = null;
  }

  return {
    added: notify,
    end() {
      over = true;
      notify();
    },
    ended: () => over,
    async changed() {
      if (!fresh) await new Promise<void>((resolve) => (wake = resolve));
      fresh = false;
    },
  };
}

/** A supply that is complete and will not grow. */
export const endedSupply: Supply = { changed: async () => {}, ended: () => true };
