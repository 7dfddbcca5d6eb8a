import { settleCoverage } from './coverage.ts';
import {
  countLeftOut,
  doubtContents,
  forgetGoneContainers,
  leftOutItems,
  setUnconfirmed,
  type LeftOut,
} from '../store/partial-listings.ts';
import { noCheckpoint, type HeldSweep, type PartitionRow } from '../store/partitions.ts';
import { matchRenames } from '../store/sync-items.ts';
import { recordChanges } from './checkpoint.ts';
import { settleMissing, sweep } from './removal.ts';
import type { Ledger, PartitionRun } from './run.ts';

/** Items in one call of `lookup`: what is known is stored after each. */
export const askedAtOnce = 100;

/**
 * Asks the source about items that a partial listing left out, as many as one run may. What it finds stays, with
 * the ref that it has now; what it says is not there counts as missing; what it does not answer for stays.
 */
export async function askAboutLeftOut(part: PartitionRun, which: LeftOut): Promise<void> {
  const { key, database, report, signal } = part.ledger;
  let found = 0;
  let isMore = true;
  for (let budget = part.settings.lookUpsPerRun; budget > 0 && isMore; budget -= askedAtOnce) {
    await part.inSlot(async () => {
      signal.throwIfAborted();
      const limit = Math.min(budget, askedAtOnce);
      const items = await leftOutItems(database, key, { ...which, limit });
      isMore = items.length === limit;
      if (items.length > 0) found += await ask(part, items, which.epoch);
    });
  }
  if (found === 0) return;
  const message = `The listing left out ${found} items that are still there, as look-ups found. They were kept.`;
  report.warn(key.partitionId, 'listing_left_out', message);
}

/** Answers how many of the items are there. */
async function ask(
  { source, partition, ledger }: PartitionRun,
  items: readonly { key: string; id: string }[],
  epoch: number,
): Promise<number> {
  const ids = items.map(({ id }) => id);
  const page = await source.lookup(partition, ids);
  const asked = new Set(items.map((item) => item.key));
  const refs = page.refs.filter(({ id }) => asked.has(id));
  const missing = [...page.gone, ...page.missing].filter((id) => asked.has(id));
  // Not to be found is no proof, so it goes through the brake; outside of what is mirrored is certain, and goes at once.
  const tombstones = page.outside.filter((id) => asked.has(id));
  const answer = { ...page, refs, tombstones, missing };
  const checkpoint = noCheckpoint(ledger.key, ledger.clock.now());
  await recordChanges(ledger, answer, { epoch, checkpoint, asked: [...asked] });
  return refs.length;
}

/**
 * Removes what look-ups did not find, unless that is too much. Without a confirmation a held sweep is released only
 * after another listing (`isListed`), and only once every missing item was looked up again.
 */
export async function settleLeftOut(
  ledger: Ledger,
  which: LeftOut,
  { isListed }: { isListed: boolean },
): Promise<{ heldSweep: HeldSweep | null; unconfirmed: number }> {
  const { key, database, lease, clock } = ledger;
  const rest = await countLeftOut(database, key, which);
  await lease.write((tx) => matchRenames(tx, key, 'reported', clock.now()));
  await sweep(ledger, 'stated');
  const heldSweep = await settleMissing(ledger, { isListed: isListed && rest.missing === 0 });
  await settleCoverage(ledger);
  if (rest.all === 0) await lease.write((tx) => forgetGoneContainers(tx, key));
  return { heldSweep, unconfirmed: rest.all };
}

/** Goes on asking where the run that listed had to stop. */
export async function askOn(
  part: PartitionRun,
  row: Pick<PartitionRow, 'epoch' | 'unread' | 'unconfirmed'>,
): Promise<void> {
  if (row.unconfirmed === 0) return;
  const { ledger } = part;
  const which = { epoch: row.epoch, except: row.unread.map(({ path }) => path) };
  await askAboutLeftOut(part, which);
  await part.inSlot(async () => {
    const { unconfirmed } = await settleLeftOut(ledger, which, { isListed: false });
    await ledger.lease.write((tx) => setUnconfirmed(tx, ledger.key, unconfirmed));
  });
}

/** Asks about what was in folders that are gone: a source may report the removal of a folder alone. */
export async function askAboutContents(part: PartitionRun, row: PartitionRow): Promise<void> {
  const { source, ledger } = part;
  if (source.spec.scope !== 'tree' || !ledger.isPartial) return;
  const { epoch, unread } = row;
  const unconfirmed = await ledger.lease.write((tx) => doubtContents(tx, ledger.key, epoch));
  await askOn(part, { epoch, unread, unconfirmed });
}
