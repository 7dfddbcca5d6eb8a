import type { Clock } from '../base/clock.ts';
import { MemorydError } from '../base/errors.ts';
import { newId } from '../base/ids.ts';
import { writeEntityContext } from '../store/container-tags.ts';
import { isUniqueViolation } from '../store/database-errors.ts';
import type { Database, Transaction } from '../store/database.ts';
import {
  forgetMemoriesOnlyFrom,
  lockDocument,
  moveParts,
  writeChangedDocument,
  type ChangingDocument,
  requeueWhole,
} from '../store/document-changes.ts';
import { writeContents } from '../store/document-contents.ts';
import { ensureContainers } from '../store/documents.ts';
import { requireQuota } from '../store/quotas.ts';
import type { FileBody, PartialDocumentChange, WrittenBody } from './document.ts';
import { contentWrite, hashOf, trustOf } from './ingest.ts';
import { requireWritable } from './add-documents.ts';

/**
 * Changes a document in place. New content, and memories that were not wanted before, start its
 * processing again; everything else holds at once. Answers whether it was queued.
 * Throws `not_found`, and `conflict` for a customId that is taken and during a merge.
 */
export async function changeDocument(
  database: Database,
  id: string,
  change: PartialDocumentChange,
  clock: Clock,
): Promise<boolean> {
  if (Object.values(change).every((value) => value === undefined)) return false;
  try {
    return await database.transaction((tx) => changeIn(tx, id, change, clock.now()));
  } catch (error) {
    if (!isUniqueViolation(error, 'documents_by_custom_id')) throw error;
    throw new MemorydError('conflict', 'Another document of the container has this customId', {
      shouldRetry: false,
      cause: error,
    });
  }
}

async function changeIn(tx: Transaction, id: string, change: PartialDocumentChange, now: Date): Promise<boolean> {
  const before = await lockDocument(tx, id);
  if (!before) throw new MemorydError('not_found', 'Document not found');
  const after = changed(before, change);
  await requireWritable(tx, [before.containerTag, after.containerTag]);
  const isRequeued = isToBeProcessed(before, after, change);
  if (isRequeued || differs(before, after)) {
    if (after.containerTag !== before.containerTag) {
      await ensureContainers(tx, [{ tag: after.containerTag, id: newId(now) }], now);
    }
    await writeChangedDocument(tx, after, { isRequeued, now });
    if (after.containerTag !== before.containerTag) {
      await moveParts(tx, id, { from: before.containerTag, to: after.containerTag }, now);
    }
  }
  if (change.body && isRequeued) await writeContents(tx, [contentWrite(id, { body: change.body })]);
  await requireQuota(tx, { tags: [after.containerTag], keys: change.addedBy === undefined ? [] : [change.addedBy] });
  if (before.taskType === 'memory' && after.taskType === 'superrag') {
    await forgetMemoriesOnlyFrom(tx, id, { reason: 'the document has no memories any more', now });
  }
  if (change.entityContext !== undefined) {
    await writeEntityContext(tx, new Map([[after.containerTag, change.entityContext]]), now);
  }
  return isRequeued;
}

function changed(stored: ChangingDocument, change: PartialDocumentChange): ChangingDocument {
  const { body, containerTag, containerTags, metadata: given } = change;
  const before = change.clearsFields === true ? { ...stored, ...cleared } : stored;
  const metadata = given === undefined ? before.metadata : mergedMetadata(before.metadata, given);
  const title = typeof given?.['title'] === 'string' ? given['title'] : undefined;
  const moved = containerTag !== undefined && containerTag !== before.containerTag;
  return {
    ...before,
    ...(body === undefined ? {} : contentFields(before, body, change)),
    containerTag: containerTag ?? before.containerTag,
    containerTags: containerTags === undefined ? (moved ? null : before.containerTags) : [...containerTags],
    customId: change.customId ?? before.customId,
    givenTitle: title ?? before.givenTitle,
    title: title ?? before.title,
    filepath: change.filepath ?? before.filepath,
    metadata,
    taskType: change.taskType ?? before.taskType,
    dreaming: change.dreaming ?? before.dreaming,
    documentDate: change.documentDate ?? before.documentDate,
    filterByMetadata: change.filterByMetadata ?? before.filterByMetadata,
    supportingContext: change.supportingContext ?? before.supportingContext,
  };
}

const cleared = { metadata: {}, documentDate: null, filterByMetadata: null, supportingContext: null };

/** An address becomes a page and back; what a connector or an upload was stays its source. */
function contentFields(
  before: ChangingDocument,
  body: WrittenBody | FileBody,
  { addedBy, type: given }: PartialDocumentChange,
) {
  const contentHash = hashOf(body);
  if (contentHash === before.contentHash) return {};
  const written = body.kind === 'text' ? 'api' : body.kind;
  const isCallers = body.kind === 'file' || ['api', 'url'].includes(before.source ?? '');
  const source = isCallers ? written : before.source;
  const wasPage = before.source === 'url';
  const url = body.kind === 'url' ? body.url : wasPage ? null : before.url;
  const trust = trustOf(body);
  const type = given ?? (body.kind === 'url' ? 'webpage' : 'text');
  return { contentHash, source, url, author: null, trust, type, addedBy: addedBy ?? null };
}

function mergedMetadata(before: object, change: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries({ ...before, ...change }).filter(([, value]) => value !== null));
}

function isToBeProcessed(before: ChangingDocument, after: ChangingDocument, change: PartialDocumentChange): boolean {
  const contentIsNew = after.contentHash !== before.contentHash;
  const contentIsAgain = change.body !== undefined && (change.body.kind === 'url' || before.status === 'failed');
  return contentIsNew || contentIsAgain || (before.taskType === 'superrag' && after.taskType === 'memory');
}

function differs(before: ChangingDocument, after: ChangingDocument): boolean {
  return JSON.stringify(before) !== JSON.stringify(after);
}

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
    await requireWritable(tx, [document.containerTag]);
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
