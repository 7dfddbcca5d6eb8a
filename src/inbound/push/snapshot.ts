import type { Clock } from '../../base/clock.ts';
import { MemorydError } from '../../base/errors.ts';
import { newId } from '../../base/ids.ts';
import type { Transaction } from '../../store/database.ts';
import { noteUnread, startListing, type PartitionRow } from '../../store/partitions.ts';
import { abandonSnapshot, findSnapshot, insertSnapshot, updateSnapshot, type SnapshotRow } from '../../store/push.ts';
import { finishRun, findRun, startRun } from '../../store/sync-runs.ts';
import type { UnreadPart } from '../../connector/contract.ts';
import { maxUnread } from '../../sync/check-page.ts';
import { pushedPartition, type PushRequest } from './push-service.ts';

/** The page of a snapshot that a request is. */
export interface PageOfSnapshot {
  id: string;
  page: number;
  epoch: number;
  runId: string;
  /** After this page. */
  nextPage: number;
  incomplete: string | null;
  /** Parts that its pages could not show so far. */
  unread: UnreadPart[];
  /** The snapshot was completed by this very page before. */
  isOver: boolean;
}

interface Continuing {
  connectionId: string;
  partition: PartitionRow;
  request: PushRequest;
  clock: Clock;
}

/**
 * Begins a snapshot with its first page, or goes on with the next one; the page before may come again,
 * because its answer may have been lost. A new snapshot ends the one before, and nothing is removed
 * for that. Null for a push that is no snapshot.
 */
export async function continueSnapshot(tx: Transaction, options: Continuing): Promise<PageOfSnapshot | null> {
  const { request, connectionId, partition, clock } = options;
  const now = clock.now();
  const wanted = request.snapshot ?? (request.completeSnapshot ? { id: newId(now), page: 1 } : null);
  if (!wanted) return null;
  const row = await findSnapshot(tx, connectionId, wanted.id);
  if (!row) return begin(tx, options, wanted);
  requireExpected(row, wanted.page);
  const nextPage = Math.max(row.nextPage, wanted.page + 1);
  const isOver = row.state === 'completed';
  const runId = isOver ? row.runId : await runOf(tx, connectionId, row, now);
  const unread = mergeUnread(partition.listingUnread, request.unread);
  return { ...wanted, epoch: row.epoch, runId, nextPage, incomplete: row.incomplete, unread, isOver };
}

async function begin(
  tx: Transaction,
  { connectionId, partition, request, clock }: Continuing,
  { id, page }: { id: string; page: number },
): Promise<PageOfSnapshot> {
  if (page !== 1) {
    throw new MemorydError('conflict', `There is no snapshot ${id.slice(0, 60)}; it begins with page 1`, {
      shouldRetry: false,
    });
  }
  const now = clock.now();
  const replaced = await abandonSnapshot(tx, connectionId, now);
  if (replaced) await finishRun(tx, replaced, { error: 'Another snapshot was begun.', errorCode: 'internal', now });
  const key = { connectionId, partitionId: pushedPartition };
  const epoch = await startListing(tx, key, { head: null, relist: partition.state !== 'new', now });
  const runId = newId(now);
  await startRun(tx, { id: runId, connectionId, mode: 'full', triggerType: 'event', now });
  await insertSnapshot(tx, { connectionId, id, epoch, runId, now });
  return {
    id,
    page,
    epoch,
    runId,
    nextPage: 2,
    incomplete: null,
    unread: mergeUnread([], request.unread),
    isOver: false,
  };
}

/** By path; a page may come again. */
function mergeUnread(before: readonly UnreadPart[], told: readonly UnreadPart[] = []): UnreadPart[] {
  return [...new Map([...before, ...told].map((part) => [part.path, part])).values()];
}

/** A page that was left out would look like deletions. */
function requireExpected({ id, state, nextPage }: SnapshotRow, page: number): void {
  const isRepeated = page === nextPage - 1;
  const refused = (message: string) => new MemorydError('conflict', message, { shouldRetry: false });
  if (state === 'abandoned') throw refused(`The snapshot ${id.slice(0, 60)} was replaced by another one`);
  if (state === 'completed' && !isRepeated) throw refused(`The snapshot ${id.slice(0, 60)} is complete`);
  if (isRepeated || page === nextPage) return;
  throw refused(`Page ${nextPage} of the snapshot is expected, page ${page} came`);
}

/** A run that was given up, because its snapshot stood still for too long, is followed by another one. */
async function runOf(tx: Transaction, connectionId: string, { runId }: SnapshotRow, now: Date): Promise<string> {
  const run = await findRun(tx, connectionId, runId);
  if (run?.status === 'running') return runId;
  const id = newId(now);
  await startRun(tx, { id, connectionId, mode: 'full', triggerType: 'event', now });
  return id;
}

/** Stores how far the snapshot is, together with the items of its page. */
export async function snapshotTaken(
  tx: Transaction,
  connectionId: string,
  page: PageOfSnapshot,
  { nameless, now }: { nameless: number; now: Date },
): Promise<void> {
  if (page.isOver) return;
  // What has no usable id may be an item that is there: its absence proves nothing then.
  if (nameless > 0) page.incomplete ??= `Page ${page.page} holds ${nameless} entries without a usable id.`;
  if (page.unread.length > maxUnread) page.incomplete ??= `More than ${maxUnread} parts could not be read.`;
  const { id, nextPage, incomplete, runId } = page;
  const key = { connectionId, partitionId: pushedPartition };
  if (page.unread.length > 0) await noteUnread(tx, key, page.unread.slice(0, maxUnread), now);
  await updateSnapshot(tx, connectionId, { id, state: 'open', nextPage, incomplete, runId, now });
}
