import { readPass, startPass, type ListingPass } from '../store/partial-listings.ts';
import type { PartitionRow } from '../store/partitions.ts';
import type { PartitionKey } from '../store/sync-items.ts';
import type { Run } from './run.ts';

/**
 * Whether one listing is not enough: nothing else would find what a partial one leaves out, because nothing was
 * mirrored before, or because the feed of changes has a gap.
 */
export function isRepeated({ connector }: Run, row: PartitionRow, follows: boolean): boolean {
  if (connector.spec.listing !== 'partial') return false;
  return row.lastListedAt === null || (connector.changes !== undefined && !follows);
}

/** Begins the next listing of the same epoch, unless those until now have settled what there is. */
export async function repeatListing(run: Run, key: PartitionKey): Promise<boolean> {
  const pass = await readPass(run.database, key);
  if (pass === null || isSettled(pass)) return false;
  if (pass.pass + 1 >= run.settings.maxListings) {
    const message = `${pass.pass + 1} listings in a row did not settle what there is: each may have left out something else. What is missing is found by a later listing, or when it changes.`;
    run.report.warn(key.partitionId, 'listing_unsteady', message);
    return false;
  }
  await run.hold.write((tx) => startPass(tx, key, run.clock.now()));
  return true;
}

/** The second listing agrees with the first; or, when it did not, two in a row bring nothing new. */
function isSettled({ pass, news, quiet }: ListingPass): boolean {
  if (pass === 0 || news > 0) return false;
  return pass === 1 || quiet >= 1;
}
