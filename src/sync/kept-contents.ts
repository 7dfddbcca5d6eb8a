import {
  dropStrayDocuments,
  knownRevisions,
  writeItemDocuments,
  type ItemDocumentWrite,
} from '../store/sync-item-documents.ts';
import { writeInline } from './fetched.ts';
import type { ListedRef } from './ref.ts';
import type { PartitionRows } from './partition-ledger.ts';

/**
 * Stores the content that a page brings along for items that are new or changed, before the page
 * itself: whatever happens then, an item that is in the ledger without being read has its content.
 * Marks their refs as `inline`; content that is too large is left to `fetch`.
 */
export async function keepContents({ key, database, hold }: PartitionRows, refs: readonly ListedRef[]): Promise<void> {
  const carrying = refs.flatMap((ref) =>
    ref.document !== undefined && ref.kind !== 'container' ? [{ ref, inline: ref.document }] : [],
  );
  if (carrying.length === 0) return;
  const ids = carrying.map(({ ref }) => ref.id);
  const known = await knownRevisions(database, key, ids);
  const writes = new Map<string, ItemDocumentWrite>();
  for (const { ref, inline } of carrying) {
    const document = known.get(ref.id) === ref.rev ? null : writeInline(inline);
    if (document === null) continue;
    ref.inline = true;
    writes.set(ref.id, { ext_id: ref.id, rev: ref.rev, document });
  }
  if (writes.size > 0) await hold.write((tx) => writeItemDocuments(tx, key, [...writes.values()]));
}

/** Removes content that no item waits for, e.g. of a page that was never recorded. */
export async function dropStrayContents({ key, hold }: PartitionRows): Promise<void> {
  await hold.write((tx) => dropStrayDocuments(tx, key));
}
