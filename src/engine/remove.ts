import type { Transaction } from '../store/database.ts';
import { deleteDocuments, deleteMemoriesOnlyFrom } from '../store/documents.ts';

/** Deletes documents with all that hangs on them: chunks, contents, and memories that no other document supports. */
export async function removeDocuments(tx: Transaction, ids: readonly string[]): Promise<number> {
  if (ids.length === 0) return 0;
  await deleteMemoriesOnlyFrom(tx, ids);
  return deleteDocuments(tx, ids);
}
