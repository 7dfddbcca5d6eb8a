import type { Transaction, Reader } from '../store/database.ts';
import { withdrawDocuments } from '../store/hidden-documents.ts';
import {
  deleteItems,
  type LeftDocument,
  lockDisappeared,
  type Disappeared,
  readMissing,
  type Missed,
  takeSkippedDocuments,
} from '../store/sync-items.ts';
import type { Ledger, BrakeSettings } from './run.ts';
import {
  forgetRemovals,
  holdSweep,
  noteRemovals,
  setHeldSweep,
  type HeldSweep,
  type PartitionKey,
  type RecentRemoval,
} from '../store/partitions.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';

/** Items that are handled in one transaction. */
export const batchSize = 500;

/** Removes the documents of items that are skipped from now on. A crash before leaves them to the next time. */
export async function dropSkipped(ledger: Ledger): Promise<void> {
  await inBatches(ledger, async (tx) => {
    const left = await takeSkippedDocuments(tx, ledger.key, batchSize);
    const removed = await dropDocuments(tx, ledger, left);
    ledger.report.counters.itemsDeleted += removed;
    return left.length;
  });
}

/** Repeats a batch, each in its own transaction, until one is not full. */
export async function inBatches({ lease, signal }: Ledger, batch: (tx: Transaction) => Promise<number>): Promise<void> {
  for (let count = batchSize; count === batchSize;) {
    signal.throwIfAborted();
    count = await lease.write(batch);
  }
}

/** Removes items and, unless the connection keeps them, the documents that only they stood for. */
export async function removeItems(tx: Transaction, ledger: Ledger, ids: readonly string[]): Promise<number> {
  if (ids.length === 0) return 0;
  ledger.documentLimit.unsettle();
  const keep = ledger.connection.onSourceDelete === 'keep';
  return withdraw(tx, ledger, await deleteItems(tx, ledger.key, ids), keep);
}

/** Removes documents that no item of this connection stands for any more; answers how many are hidden now. */
export function dropDocuments(tx: Transaction, ledger: Ledger, left: readonly LeftDocument[]): Promise<number> {
  return withdraw(tx, ledger, left, false);
}

async function withdraw(
  tx: Transaction,
  { connection, clock }: Ledger,
  left: readonly LeftDocument[],
  keep: boolean,
): Promise<number> {
  if (left.length === 0) return 0;
  return withdrawDocuments(tx, left, { connectionId: connection.id, keep, now: clock.now() });
}

/** Removes what is missing, unless the brake holds it. `isListed`: a complete listing has just looked for it. */
export async function settleMissing(ledger: Ledger, { isListed }: { isListed: boolean }): Promise<HeldSweep | null> {
  const verdict = await brake(ledger, ledger.key, isListed);
  if (verdict.kind === 'held') {
    await ledger.lease.write((tx) => holdSweep(tx, ledger.key, verdict.held, ledger.clock.now()));
    if (!verdict.held.rejected) ledger.report.warn(ledger.key.partitionId, 'sweep_held', heldMessage(verdict.held));
    return verdict.held;
  }
  if (verdict.kind !== 'none') await sweep(ledger, 'missing');
  if (verdict.kind === 'meant') await ledger.lease.write((tx) => forgetRemovals(tx, ledger.key));
  if (verdict.wasHeld) await ledger.lease.write((tx) => setHeldSweep(tx, ledger.key, null, ledger.clock.now()));
  return null;
}

function heldMessage({ count, of }: HeldSweep): string {
  return `${count} of ${of} items are no longer there. They are kept until that is confirmed, or a later sync misses them again.`;
}

/** Removes disappeared items batch by batch. The brake remembers how many were only missing. */
export async function sweep(ledger: Ledger, which: Disappeared): Promise<void> {
  await inBatches(ledger, (tx) => removeSome(tx, ledger, which));
}

async function removeSome(tx: Transaction, ledger: Ledger, which: Disappeared): Promise<number> {
  const ids = await lockDisappeared(tx, ledger.key, which, batchSize);
  const removed = await removeItems(tx, ledger, ids);
  ledger.report.counters.itemsDeleted += removed;
  if (which === 'missing' && removed > 0) {
    const { brakeWindowMs: windowMs } = ledger.settings;
    await noteRemovals(tx, ledger.key, { count: removed, windowMs, now: ledger.clock.now() });
  }
  return ids.length;
}

interface Braking {
  database: Reader;
  clock: Clock;
  log: Logger;
  settings: BrakeSettings;
}

/**
 * Decides about missing items: none are missing; they are few enough to be removed; somebody, or a
 * second look, has said that they are to go; or they are held. It is about those that were `missedBy` then.
 */
export type BrakeVerdict =
  | { kind: 'none'; wasHeld: boolean }
  | ({ kind: 'few' | 'meant'; wasHeld: boolean } & Missed)
  | { kind: 'held'; held: HeldSweep };

/**
 * Judges what is missing from a partition, that is, gone without the source saying that it was deleted,
 * whatever found it so. It is held when it is everything, or, with what went like this within
 * `brakeWindowMs`, more than `brakeItems` and `brakeShare` of the partition: until somebody confirms it, or
 * a complete listing (`isListed`) misses the same items at least `brakeReleaseMs` later. What somebody
 * rejected is kept until other items are missing.
 */
export async function brake(braking: Braking, key: PartitionKey, isListed: boolean): Promise<BrakeVerdict> {
  const {
    missing,
    total,
    digest,
    lastMissed,
    heldSweep: held,
    recentRemovals,
  } = await readMissing(braking.database, key);
  const wasHeld = held !== null;
  if (missing === 0) return { kind: 'none', wasHeld };
  const missedBy = lastMissed!;
  // A confirmation is for what was held, all of it or what is left of it, and not for what was missed later.
  if (held?.confirmed && missedBy.getTime() <= Date.parse(held.heldAt)) return { kind: 'meant', wasHeld, missedBy };
  const { brakeItems, brakeShare, brakeReleaseMs, brakeWindowMs } = braking.settings;
  const now = braking.clock.now();
  const recent = countSince(recentRemovals, now.getTime() - brakeWindowMs);
  const isOff = brakeItems === Infinity;
  if (isOff || (missing < total && missing + recent <= Math.max(brakeItems, (total + recent) * brakeShare))) {
    return { kind: 'few', wasHeld, missedBy };
  }
  const isSame = held !== null && held.digest === digest;
  const isDue = isSame && isListed && now.getTime() - Date.parse(held.heldAt) >= brakeReleaseMs;
  if (isDue && !held.rejected) return { kind: 'meant', wasHeld, missedBy };
  if (isSame) return { kind: 'held', held };
  braking.log.warn({ connectionId: key.connectionId, missing, total, recent }, 'sweep held: too much would be removed');
  return { kind: 'held', held: { count: missing, of: total, digest, heldAt: now.toISOString() } };
}

function countSince(removals: readonly RecentRemoval[], sinceMs: number): number {
  return removals.reduce((sum, { hourMs, count }) => (hourMs > sinceMs ? sum + count : sum), 0);
}
