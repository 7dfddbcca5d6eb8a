import type { HeldSweep } from '../store/partitions.ts';
import { countDisappeared, type PartitionKey } from '../store/sync-items.ts';
import type { Run, RunSettings } from './run.ts';

type Braking = Pick<Run, 'database' | 'clock' | 'log'> & {
  settings: Pick<RunSettings, 'brakeItems' | 'brakeShare' | 'brakeReleaseMs'>;
};

/**
 * Holds a sweep that would remove everything, or more than `brakeItems` and `brakeShare` of the
 * partition, until somebody confirms it or a second listing, some time later, misses the same items.
 * What somebody rejected is kept until a listing misses other items.
 */
export async function brake(
  run: Braking,
  key: PartitionKey,
  held: HeldSweep | null,
  epoch: number,
): Promise<HeldSweep | null> {
  const { gone, total, digest } = await countDisappeared(run.database, key, epoch);
  // A confirmation is for what was held, not for more of it.
  if (gone === 0 || (held?.confirmed && gone <= held.count)) return null;
  const { brakeItems, brakeShare, brakeReleaseMs } = run.settings;
  if (gone < total && gone <= Math.max(brakeItems, total * brakeShare)) return null;
  const now = run.clock.now();
  const same = held !== null && held.digest === digest;
  if (same && !held.rejected && now.getTime() - Date.parse(held.heldAt) >= brakeReleaseMs) return null;
  if (same) return held;
  run.log.warn({ connectionId: key.connectionId, gone, total }, 'sweep held: too much would be removed');
  return { count: gone, of: total, digest, heldAt: now.toISOString() };
}
