import { noCheckpoint, positionCheckpoint, type PartitionRow } from '../store/partitions.ts';
import type { Json, Partition } from './contract.ts';
import { recordChanges, settleChanges } from './ledger.ts';
import { keyOf, type Run } from './run.ts';

/** Reads changes from the stored position to now, storing the position with the items of each page. */
export async function followChanges(
  run: Run,
  partition: Partition,
  row: PartitionRow,
  onPage: () => void,
): Promise<void> {
  const key = keyOf(run, partition);
  let position = row.position as Json;
  for (let done = false; !done;) {
    run.signal.throwIfAborted();
    const page = await run.connector.changes!(run.context, partition, position);
    position = page.next ?? position;
    done = page.done === true || page.next === undefined;
    const checkpoint = positionCheckpoint(key, { position, now: run.clock.now() });
    await recordChanges(run, key, page, { epoch: row.epoch, checkpoint });
    onPage();
  }
  await settleChanges(run, key);
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
  if (!run.connector.lookup) return false;
  const key = keyOf(run, partition);
  let complete = true;
  for (let start = 0; start < ids.length; start += lookupSize) {
    run.signal.throwIfAborted();
    const page = await run.connector.lookup(run.context, partition, ids.slice(start, start + lookupSize));
    complete &&= page.incomplete === undefined;
    await recordChanges(run, key, page, { epoch: row.epoch, checkpoint: noCheckpoint(key, run.clock.now()) });
  }
  await settleChanges(run, key);
  return complete;
}
