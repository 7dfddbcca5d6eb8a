import type { Database, Transaction } from '../store/database.ts';
import { deleteDocuments } from '../store/documents.ts';
import { lockHiddenBefore } from '../store/hidden-documents.ts';
import { deleteMemoriesOnlyFrom, settleChains } from '../store/memory-versions.ts';
import type { Clock } from '../base/clock.ts';
import { hideDocuments, selectDocuments, type DocumentSelection } from '../store/document-selection.ts';
import { suppressItemsOfDocuments } from '../store/sync-items.ts';

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

/** Others get their turn at the database between two batches; a document may have thousands of chunks. */
const batchSize = 100;

/** Section 12.9 of the API: more than this is invisible at once and deleted by the next clean-up. */
const deletedAtOnce = 10_000;

/** So is what is left after this long: callers wait for the answer. */
const patienceMs = 10_000;

/** Deletes documents for good, with all that hangs on them. Answers how many there were. */
export async function removeSelected(database: Database, selection: DocumentSelection, clock: Clock): Promise<number> {
  const now = clock.now();
  const isLate = () => clock.now().getTime() - now.getTime() >= patienceMs;
  let removed = 0;
  while (removed < deletedAtOnce && !isLate()) {
    const ids = await selectDocuments(database, selection, batchSize);
    await database.transaction(async (tx) => {
      await suppressItemsOfDocuments(tx, ids, now);
      await removeDocuments(tx, ids, now);
    });
    removed += ids.length;
    if (ids.length < batchSize) return removed;
  }
  const hidden = await database.transaction((tx) => hideDocuments(tx, selection, { since: new Date(0), now }));
  return removed + hidden;
}
