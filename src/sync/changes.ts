import { noCheckpoint, positionCheckpoint, type PartitionRow } from '../store/partitions.ts';
import type { Json, Partition } from '../connector/contract.ts';
import { keepContents } from './kept-contents.ts';
import { askAboutContents, lookUp } from './left-out.ts';
import { recordChanges, settleChanges } from './ledger.ts';
import { checkPage, createPageGuard } from './page.ts';
import { remark } from './remarks.ts';
import { inTurn, keyOf, type Run } from './run.ts';

/** Reads changes from the stored position to now, storing the position with the items of each page. */
export async function followChanges(
  run: Run,
  partition: Partition,
  row: PartitionRow,
  onPage: () => void,
): Promise<void> {
  const key = keyOf(run, partition);
  const guard = createPageGuard('changes');
  let position = row.position as Json;
  let done = false;
  const step = async () => {
    const answer = await run.verbs.call('changes', () => run.connector.changes!(run.context, partition, position));
    const page = checkPage(answer, 'changes');
    guard.pass(position, page);
    remark(run, partition.id, page.remarks);
    position = page.next ?? position;
    done = page.done || page.next === undefined;
    await keepContents(run, key, page.refs);
    const checkpoint = positionCheckpoint(key, { position, now: run.clock.now() });
    await recordChanges(run, key, page, { epoch: row.epoch, checkpoint });
  };
  while (!done) {
    await inTurn(run, step);
    onPage();
  }
  await inTurn(run, () => settleChanges(run, key));
  await askAboutContents(run, partition, row);
  onPage();
}

const lookupSize = 500;

/**
 * Serves hints: looks the named items up and records what they are now. False when that did not
 * answer everything, so that the partition must be listed.
 */
export async function lookUpHints(
  run: Run,
  partition: Partition,
  row: PartitionRow,
  ids: readonly string[],
): Promise<boolean> {
  const { connector } = run;
  if (!connector.lookup) return false;
  const key = keyOf(run, partition);
  let complete = true;
  for (let start = 0; start < ids.length; start += lookupSize) {
    await inTurn(run, async () => {
      const asked = ids.slice(start, start + lookupSize);
      const page = await lookUp(run, partition, asked);
      complete &&= page.incomplete === undefined;
      await keepContents(run, key, page.refs);
      // What a look-up does not find may be deleted, or its disk may be away: the source has not said which.
      const found = { ...page, gone: page.outside, missing: [...page.gone, ...page.missing] };
      await recordChanges(run, key, found, { epoch: row.epoch, checkpoint: noCheckpoint(key, run.clock.now()) });
    });
  }
  await inTurn(run, () => settleChanges(run, key));
  return complete;
}
