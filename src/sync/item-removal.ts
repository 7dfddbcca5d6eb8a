import type { Transaction } from '../store/database.ts';
import { withdrawDocuments } from '../store/hidden-documents.ts';
import { deleteItems, type LeftDocument } from '../store/sync-items.ts';
import { takeSkippedDocuments } from '../store/sync-items-scope.ts';
import type { Ledger } from './partition-ledger.ts';

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
export async function inBatches({ hold, signal }: Ledger, batch: (tx: Transaction) => Promise<number>): Promise<void> {
  for (let count = batchSize; count === batchSize;) {
    signal.throwIfAborted();
    count = await hold.write(batch);
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
