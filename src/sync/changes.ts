import { changesCheckpoint, noCheckpoint, type PartitionRow } from '../store/partitions.ts';
import type { Json } from '../connector/contract.ts';
import { recordChanges } from './checkpoint.ts';
import type { PartitionRun } from './run.ts';
import { askAboutContents } from './unlisted-items.ts';
import { createPageGuard } from './check-page.ts';
import { settleScope } from './apply-scope.ts';
import { matchRenames } from '../store/sync-items.ts';
import { settleMissing, sweep } from './removal.ts';
import type { Ledger } from './ledger.ts';

/** Reads changes from the stored cursor to now, storing the new cursor with the items of each page. */
export async function followChanges(part: PartitionRun, row: PartitionRow, onPage: () => void): Promise<void> {
  const { source, partition, ledger } = part;
  const guard = createPageGuard('changes');
  let cursor = row.changesCursor as Json;
  let done = false;
  const step = async () => {
    const page = await source.changes(partition, cursor);
    guard.pass(cursor, page);
    cursor = page.next ?? cursor;
    done = page.done || page.next === undefined;
    const checkpoint = changesCheckpoint(ledger.key, { cursor, now: ledger.clock.now() });
    await recordChanges(ledger, { ...page, tombstones: page.gone }, { epoch: row.epoch, checkpoint });
  };
  while (!done) {
    await part.inSlot(step);
    onPage();
  }
  await part.inSlot(() => settleChanges(ledger));
  await askAboutContents(part, row);
  onPage();
}

const lookupSize = 500;

/**
 * Serves hints: looks the named items up and records what they are now. False when that did not
 * answer everything, so that the partition must be listed.
 */
export async function lookUpHints(part: PartitionRun, row: PartitionRow, ids: readonly string[]): Promise<boolean> {
  const { source, partition, ledger } = part;
  if (!source.has('lookup')) return false;
  let complete = true;
  for (let start = 0; start < ids.length; start += lookupSize) {
    await part.inSlot(async () => {
      const page = await source.lookup(partition, ids.slice(start, start + lookupSize));
      complete &&= page.incomplete === undefined;
      // What a look-up does not find may be deleted, or its disk may be away: the source has not said which.
      const found = { ...page, tombstones: page.outside, missing: [...page.gone, ...page.missing] };
      const checkpoint = noCheckpoint(ledger.key, ledger.clock.now());
      await recordChanges(ledger, found, { epoch: row.epoch, checkpoint });
    });
  }
  await part.inSlot(() => settleChanges(ledger));
  return complete;
}

/** After the last page: renames keep their documents, what is still gone is removed. */
async function settleChanges(ledger: Ledger): Promise<void> {
  await ledger.lease.write((tx) => matchRenames(tx, ledger.key, 'reported', ledger.clock.now()));
  await sweep(ledger, 'stated');
  await settleMissing(ledger, { isListed: false });
  await settleScope(ledger);
}
