import type { HeldSweep, PartitionKey, RecentRemoval } from '../store/partitions.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Reader } from '../store/database.ts';
import { readMissing, type Missed } from '../store/sync-items.ts';

export interface BrakeSettings {
  /**
   * Removals of more missing items than this, and than this share, within the window wait for a confirmation…
   * Infinity: none does, so that tests see what would be removed without the brake.
   */
  brakeItems: number;
  brakeShare: number;
  brakeWindowMs: number;
  /** …or for a second identical listing at least this much later. */
  brakeReleaseMs: number;
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
