import type { Clock } from '../base/clock.ts';
import type { Database } from '../store/database.ts';
import { hideDocuments, selectDocuments, type DocumentSelection } from '../store/document-selection.ts';
import { suppressItemsOfDocuments } from '../store/sync-items.ts';
import { removeDocuments } from './remove.ts';

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
