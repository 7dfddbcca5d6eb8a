import { MemorydError } from '../base/errors.ts';
import type { Database } from '../store/database.ts';
import { lockDocument, requeueWhole } from '../store/document-changes.ts';
import { requireWritable } from './require-writable.ts';

const settled = new Set(['done', 'failed']);

/**
 * Queues a document so that all that stands of it in the index is made again from its content; an address is fetched
 * again. Throws `not_found`, and `conflict` for one that is under way, for one that holds a memory and no text of its
 * own, and during a merge.
 */
export async function reindexDocument(database: Database, id: string, now: Date): Promise<void> {
  await database.transaction(async (tx) => {
    const document = await lockDocument(tx, id);
    if (!document) throw new MemorydError('not_found', 'Document not found');
    await requireWritable(tx, [document.container_tag]);
    const reason =
      document.source === 'memory'
        ? 'This document holds a memory and has no text to index.'
        : settled.has(document.status)
          ? null
          : 'The document is being processed already.';
    if (reason !== null) throw new MemorydError('conflict', reason, { shouldRetry: false });
    await requeueWhole(tx, id, now);
  });
}
