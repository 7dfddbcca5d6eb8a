import type { Clock } from '../../base/clock.ts';
import { MemorydError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import type { Database, Transaction } from '../../store/database.ts';
import {
  finishListing,
  forgetRemovals,
  listPartitions,
  noteRemovals,
  setHeldSweep,
  type HeldSweep,
} from '../../store/partitions.ts';
import { findSnapshot, lockPushConnection, updateSnapshot, type PushConnection } from '../../store/push.ts';
import { lockDisappeared, markUnseen, type Missed, type PartitionKey, type Unseen } from '../../store/sync-items.ts';
import { addToRun, finishRun } from '../../store/sync-runs.ts';
import { brake, type BrakeSettings } from '../../sync/brake.ts';
import { unreadMessage } from '../../sync/unread.ts';
import { pushedPartition } from './push-service.ts';
import type { PageOfSnapshot } from './snapshot.ts';
import { removePushed } from './take-page.ts';

interface RemovalOptions {
  database: Database;
  clock: Clock;
  log: Logger;
  settings: BrakeSettings;
}

const batchSize = 500;

/**
 * Ends a snapshot whose last page is stored: removes what it did not show, unless that is too much or
 * it may not have shown everything. A crash before the end leaves the snapshot open, and repeating its
 * last page goes on.
 */
export async function completeSnapshot(
  options: RemovalOptions,
  connectionId: string,
  page: PageOfSnapshot,
): Promise<{ removed: number; held: HeldSweep | null }> {
  const key = { connectionId, partitionId: pushedPartition };
  const { held, removed } = page.incomplete === null ? await removeMissing(options, key, page) : nothing;
  const now = options.clock.now();
  await options.database.transaction(async (tx) => {
    await lockPushConnection(tx, connectionId);
    // Another snapshot may have been begun meanwhile, which then has the listing.
    if ((await findSnapshot(tx, connectionId, page.id))?.state !== 'open') return;
    const { id, nextPage, incomplete, runId } = page;
    await updateSnapshot(tx, connectionId, { id, state: 'completed', nextPage, incomplete, runId, now });
    await finishListing(tx, key, { ...(page.incomplete === null && { heldSweep: held }), now });
    await endRun(tx, page, removed, now);
  });
  return { removed, held };
}

const nothing = { removed: 0, held: null };

/** Removes what a complete snapshot has not shown, unless the brake holds it. */
async function removeMissing(
  options: RemovalOptions,
  key: PartitionKey,
  { epoch, unread }: PageOfSnapshot,
): Promise<{ removed: number; held: HeldSweep | null }> {
  const unseen = { notSeenIn: epoch, except: unread.map(({ path }) => path) };
  const now = options.clock.now();
  await whileActive(options.database, key, (tx) => markUnseen(tx, key, unseen, now));
  const verdict = await brake(options, key, true);
  if (verdict.kind === 'held') return { removed: 0, held: verdict.held };
  const removed = verdict.kind === 'none' ? 0 : await removeAll(options, key, { missedBy: verdict.missedBy });
  if (verdict.kind === 'meant') await options.database.transaction((tx) => forgetRemovals(tx, key));
  await removeAll(options, key, unseen);
  return { removed, held: null };
}

async function endRun(tx: Transaction, page: PageOfSnapshot, removed: number, now: Date): Promise<void> {
  const none = { itemsSeen: 0, itemsAdded: 0, itemsUpdated: 0, itemsSkipped: 0, itemsFailed: 0 };
  const { incomplete, unread } = page;
  const messages = [
    ...(incomplete === null ? [] : [incomplete]),
    ...(unread.length > 0 ? [unreadMessage(unread)] : []),
  ];
  const warnings = messages.map((message) => ({ partitionId: null, code: 'incomplete', message }));
  await addToRun(tx, page.runId, { counters: { ...none, itemsDeleted: removed }, warnings }, now);
  await finishRun(tx, page.runId, { error: null, errorCode: null, now });
}

/** Carries out what a confirmed brake held. A snapshot that ends meanwhile may miss other items: those stay. */
export async function settleHeld(options: RemovalOptions, connectionId: string): Promise<void> {
  const key = { connectionId, partitionId: pushedPartition };
  const verdict = await brake(options, key, false);
  if (verdict.kind !== 'meant') return;
  await removeAll(options, key, { missedBy: verdict.missedBy });
  await whileActive(options.database, key, async (tx) => {
    await forgetRemovals(tx, key);
    const partition = (await listPartitions(tx, connectionId)).find(({ id }) => id === pushedPartition);
    if (partition?.heldSweep?.confirmed) await setHeldSweep(tx, key, null, options.clock.now());
  });
}

/** What is left is removed when the last page comes again. */
function stopped(): MemorydError {
  return new MemorydError('conflict', 'The connection is no longer active', { shouldRetry: false });
}

/** Removes disappeared items batch by batch; answers how many there were. */
async function removeAll(options: RemovalOptions, key: PartitionKey, which: Unseen | Missed): Promise<number> {
  const { database, clock, settings } = options;
  let removed = 0;
  for (let count = batchSize; count === batchSize;) {
    count = await whileActive(database, key, async (tx, connection) => {
      const now = clock.now();
      const ids = await lockDisappeared(tx, key, which, batchSize);
      await removePushed(tx, { connection, key, now }, ids);
      const noted = { count: ids.length, windowMs: settings.brakeWindowMs, now };
      if ('missedBy' in which && ids.length > 0) await noteRemovals(tx, key, noted);
      return ids.length;
    });
    removed += count;
  }
  return removed;
}

function whileActive<T>(
  database: Database,
  key: PartitionKey,
  work: (tx: Transaction, connection: PushConnection) => Promise<T>,
): Promise<T> {
  return database.transaction(async (tx) => {
    const connection = await lockPushConnection(tx, key.connectionId);
    if (connection?.status !== 'active') throw stopped();
    return work(tx, connection);
  });
}
