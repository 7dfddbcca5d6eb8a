import type { PartitionKey } from '../store/partitions.ts';
import type { Transaction } from '../store/database.ts';
import { withdrawDocuments } from '../store/hidden-documents.ts';
import { deleteItems, type LeftDocument } from '../store/sync-items.ts';
import { takeSkippedDocuments } from '../store/sync-items-scope.ts';
import type { Run } from './run.ts';

/** Items that are handled in one transaction. */
export const batchSize = 500;

/** Removes the documents of items that are skipped from now on. A crash before leaves them to the next time. */
export async function dropSkipped(run: Run, key: PartitionKey): Promise<void> {
  await inBatches(run, async (tx) => {
    const left = await takeSkippedDocuments(tx, key, batchSize);
    const removed = await dropDocuments(tx, run, left);
    run.counters.itemsDeleted += removed;
    return left.length;
  });
}

/** Repeats a batch, each in its own transaction, until one is not full. */
export async function inBatches(run: Run, batch: (tx: Transaction) => Promise<number>): Promise<void> {
  for (let count = batchSize; count === batchSize;) {
    run.signal.throwIfAborted();
    count = await run.hold.write(batch);
  }
}

/** Removes items and, unless the connection keeps them, the documents that only they stood for. */
export async function removeItems(
  tx: Transaction,
  run: Run,
  key: PartitionKey,
  ids: readonly string[],
): Promise<number> {
  if (ids.length === 0) return 0;
  run.documentLimit.unsettle();
  const keep = run.connection.onSourceDelete === 'keep';
  return withdraw(tx, run, await deleteItems(tx, key, ids), keep);
}

/** Removes documents that no item of this connection stands for any more; answers how many are hidden now. */
export function dropDocuments(tx: Transaction, run: Run, left: readonly LeftDocument[]): Promise<number> {
  return withdraw(tx, run, left, false);
}

async function withdraw(tx: Transaction, run: Run, left: readonly LeftDocument[], keep: boolean): Promise<number> {
  if (left.length === 0) return 0;
  return withdrawDocuments(tx, left, { connectionId: run.connection.id, keep, now: run.clock.now() });
}
