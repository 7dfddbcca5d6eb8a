import type { Database, Transaction } from '../store/database.ts';
import { deleteDocuments } from '../store/documents.ts';
import { lockHiddenBefore } from '../store/hidden-documents.ts';
import { deleteMemoriesOnlyFrom, settleChains } from '../store/memory-versions.ts';

/** Deletes documents with all that hangs on them: chunks, contents, and memories that no other document supports. */
export async function removeDocuments(tx: Transaction, ids: readonly string[], now: Date): Promise<number> {
  if (ids.length === 0) return 0;
  const chains = await deleteMemoriesOnlyFrom(tx, ids, now);
  const deleted = await deleteDocuments(tx, ids);
  await settleChains(tx, chains, now);
  return deleted;
}

/**
 * Deletes documents for good that a mirror removed before a time; until then they come back with their
 * item. At most `batch` of them, in one transaction; answers how many, so that less than `batch` means
 * that none are left. Safe beside mirrors that bring some of them back.
 */
export function purgeDeleted(database: Database, options: { before: Date; batch: number; now: Date }): Promise<number> {
  return database.transaction(async (tx) =>
    removeDocuments(tx, await lockHiddenBefore(tx, options.before, options.batch), options.now),
  );
}
