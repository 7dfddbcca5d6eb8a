import type { Clock } from '../../base/clock.ts';
import { MemorydError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import type { Database, Transaction } from '../../store/database.ts';
import { finishListing, listPartitions, setHeldSweep, type HeldSweep } from '../../store/partitions.ts';
import { findSnapshot, lockPushConnection, updateSnapshot } from '../../store/push.ts';
import { lockDisappeared, type PartitionKey } from '../../store/sync-items.ts';
import { addToRun, finishRun } from '../../store/sync-runs.ts';
import { brake } from '../brake.ts';
import type { RunSettings } from '../run.ts';
import { pushedPartition } from './push-service.ts';
import type { PageOfSnapshot } from './snapshot.ts';
import { removePushed } from './take-page.ts';

interface RemovalOptions {
  database: Database;
  clock: Clock;
  log: Logger;
  settings: Pick<RunSettings, 'brakeItems' | 'brakeShare' | 'brakeReleaseMs'>;
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
  const before = await heldIn(options.database, key);
  let held = before;
  let removed = 0;
  if (page.incomplete === null) {
    held = await brake(options, key, before, page.epoch);
    if (held === null) removed = await removeUnseen(options, key, page.epoch);
  }
  const now = options.clock.now();
  await options.database.transaction(async (tx) => {
    await lockPushConnection(tx, connectionId);
    // Another snapshot may have been begun meanwhile, which then has the listing.
    if ((await findSnapshot(tx, connectionId, page.id))?.state !== 'open') return;
    const { id, nextPage, incomplete, runId } = page;
    await updateSnapshot(tx, connectionId, { id, state: 'completed', nextPage, incomplete, runId, now });
    await finishListing(tx, key, { heldSweep: held && { ...held, epoch: page.epoch }, now });
    await endRun(tx, page, removed, now);
  });
  return { removed, held: page.incomplete === null ? held : null };
}

async function endRun(tx: Transaction, page: PageOfSnapshot, removed: number, now: Date): Promise<void> {
  const none = { itemsSeen: 0, itemsAdded: 0, itemsUpdated: 0, itemsSkipped: 0, itemsFailed: 0 };
  const { incomplete } = page;
  const warnings = incomplete === null ? [] : [{ partitionId: null, code: 'incomplete', message: incomplete }];
  await addToRun(tx, page.runId, { counters: { ...none, itemsDeleted: removed }, warnings }, now);
  await finishRun(tx, page.runId, { error: null, errorCode: null, now });
}

/** Carries out what a confirmed brake held. */
export async function settleHeld(options: RemovalOptions, connectionId: string): Promise<void> {
  const key = { connectionId, partitionId: pushedPartition };
  const held = await heldIn(options.database, key);
  if (!held?.confirmed || held.epoch === undefined) return;
  await removeUnseen(options, key, held.epoch);
  await setHeldSweep(options.database, key, null, options.clock.now());
}

/** What is left is removed when the last page comes again. */
function stopped(): MemorydError {
  return new MemorydError('conflict', 'The connection is no longer active', { shouldRetry: false });
}

async function heldIn(database: Database, key: PartitionKey): Promise<HeldSweep | null> {
  const partitions = await listPartitions(database, key.connectionId);
  return partitions.find(({ id }) => id === key.partitionId)?.heldSweep ?? null;
}

/** Removes what was last seen before an epoch, batch by batch. */
async function removeUnseen({ database, clock }: RemovalOptions, key: PartitionKey, epoch: number): Promise<number> {
  let removed = 0;
  for (let count = batchSize; count === batchSize;) {
    count = await database.transaction(async (tx) => {
      const connection = await lockPushConnection(tx, key.connectionId);
      if (connection?.status !== 'active') throw stopped();
      const ids = await lockDisappeared(tx, key, { notSeenIn: epoch }, batchSize);
      await removePushed(tx, { connection, key, now: clock.now() }, ids);
      return ids.length;
    });
    removed += count;
  }
  return removed;
}
