import { settleScope } from './apply-scope.ts';
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
import type { Partition } from '../connector/contract.ts';
import { keepContents } from './kept-contents.ts';
import { recordChanges, settleMissing, sweep } from './ledger.ts';
import { checkPage, type CheckedPage } from './page.ts';
import { inTurn, keyOf, type Run, remark } from './run.ts';

/** Items in one call of `lookup`: what is known is stored after each. */
export const askedAtOnce = 100;

/**
 * Asks the source about items that a partial listing left out, as many as one run may. What it finds stays, with
 * the ref that it has now; what it says is not there counts as missing; what it does not answer for stays.
 */
export async function askAboutLeftOut(run: Run, partition: Partition, which: LeftOut): Promise<void> {
  const key = keyOf(run, partition);
  let found = 0;
  let isMore = true;
  for (let budget = run.settings.lookUpsPerRun; budget > 0 && isMore; budget -= askedAtOnce) {
    await inTurn(run, async () => {
      run.signal.throwIfAborted();
      const limit = Math.min(budget, askedAtOnce);
      const items = await leftOutItems(run.database, key, { ...which, limit });
      isMore = items.length === limit;
      if (items.length > 0) found += await ask(run, partition, items, which.epoch);
    });
  }
  if (found === 0) return;
  const message = `The listing left out ${found} items that are still there, as look-ups found. They were kept.`;
  run.report.warn(key.partitionId, 'listing_left_out', message);
}

/** Answers how many of the items are there. */
async function ask(
  run: Run,
  partition: Partition,
  items: readonly { key: string; id: string }[],
  epoch: number,
): Promise<number> {
  const key = keyOf(run, partition);
  const page = await lookUp(
    run,
    partition,
    items.map(({ id }) => id),
  );
  const asked = new Set(items.map((item) => item.key));
  const refs = page.refs.filter(({ id }) => asked.has(id));
  const missing = [...page.gone, ...page.missing].filter((id) => asked.has(id));
  await keepContents(run, key, refs);
  const outside = page.outside.filter((id) => asked.has(id));
  const answer = { ...page, refs, gone: outside, missing };
  const checkpoint = noCheckpoint(key, run.clock.now());
  await recordChanges(run, key, answer, { epoch, checkpoint, asked: [...asked] });
  return refs.length;
}

/** One page of `lookup`, which answers for all ids at once. */
export async function lookUp(run: Run, partition: Partition, ids: string[]): Promise<CheckedPage> {
  const answer = await run.verbs.call('lookup', () => run.connector.lookup?.(run.context, partition, ids));
  const page = checkPage(answer, 'lookup');
  remark(run, partition.id, page.remarks);
  return page;
}

/**
 * Removes what look-ups did not find, unless that is too much. A sweep that is held is only released by itself
 * when the source was asked about all of it once more, after another listing (`isListed`).
 */
export async function settleLeftOut(
  run: Run,
  partition: Partition,
  which: LeftOut,
  { isListed }: { isListed: boolean },
): Promise<{ heldSweep: HeldSweep | null; unconfirmed: number }> {
  const key = keyOf(run, partition);
  const rest = await countLeftOut(run.database, key, which);
  await run.hold.write((tx) => matchRenames(tx, key, 'reported', run.clock.now()));
  await sweep(run, key, 'stated');
  const heldSweep = await settleMissing(run, key, { isListed: isListed && rest.missing === 0 });
  await settleScope(run, key);
  if (rest.all === 0) await run.hold.write((tx) => forgetGoneContainers(tx, key));
  return { heldSweep, unconfirmed: rest.all };
}

/** Goes on asking where the run that listed had to stop. */
export async function askOn(
  run: Run,
  partition: Partition,
  row: Pick<PartitionRow, 'epoch' | 'unread' | 'unconfirmed'>,
): Promise<void> {
  if (row.unconfirmed === 0) return;
  const key = keyOf(run, partition);
  const which = { epoch: row.epoch, except: row.unread.map(({ path }) => path) };
  await askAboutLeftOut(run, partition, which);
  await inTurn(run, async () => {
    const { unconfirmed } = await settleLeftOut(run, partition, which, { isListed: false });
    await run.hold.write((tx) => setUnconfirmed(tx, key, unconfirmed));
  });
}

/** Asks about what was in folders that are gone: a source may report the removal of a folder alone. */
export async function askAboutContents(run: Run, partition: Partition, row: PartitionRow): Promise<void> {
  const { spec } = run.connector;
  if (spec.scope !== 'tree' || spec.listing !== 'partial') return;
  const { epoch, unread } = row;
  const key = keyOf(run, partition);
  const unconfirmed = await run.hold.write((tx) => doubtContents(tx, key, epoch));
  await askOn(run, partition, { epoch, unread, unconfirmed });
}
