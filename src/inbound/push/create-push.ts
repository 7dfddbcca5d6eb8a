import { hash } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { MemorydError } from '../../base/errors.ts';
import { newId } from '../../base/ids.ts';
import type { Logger } from '../../base/log.ts';
import type { Database, Transaction } from '../../store/database.ts';
import {
  finishListing,
  forgetRemovals,
  listPartitions,
  noteRemovals,
  setHeldSweep,
  upsertPartitions,
  type HeldSweep,
  type PartitionKey,
  type PartitionRow,
} from '../../store/partitions.ts';
import {
  extendRun,
  findDelivery,
  insertDelivery,
  latestSnapshot,
  lockPushConnection,
  recentPushRun,
  touchPushConnection,
  type PushConnection,
  findSnapshot,
  updateSnapshot,
} from '../../store/push.ts';
import { addToRun, finishRun, startRun, type RunCounters } from '../../store/sync-runs.ts';
import { brake } from '../../sync/removal.ts';
import type { BrakeSettings } from '../../sync/run.ts';
import {
  pushedPartition,
  pushProvider,
  type DeleteResult,
  type Push,
  type PushAnswer,
  type PushCounts,
  type PushRequest,
  type UpsertResult,
} from './push-service.ts';
import {
  continueSnapshot,
  snapshotTaken,
  type PageOfSnapshot,
  takePage,
  type TakenPage,
  removePushed,
} from './take-page.ts';
import { lockDisappeared, markUnseen, type Missed, type Unseen } from '../../store/sync-items.ts';
import { unreadMessage } from '../../sync/check-page.ts';

export interface PushOptions {
  database: Database;
  clock: Clock;
  log: Logger;
  settings: BrakeSettings;
  /** Wakes the workers that process documents. */
  wake(count: number): Promise<void>;
}

/** Pushes that follow each other within this time are shown as one run. */
const sameRunMs = 60_000;

export function createPush(options: PushOptions): Push {
  const { database, clock } = options;
  return {
    async push(id, request) {
      const bodyHash = hash('sha256', JSON.stringify(request), 'base64');
      const { answer, queued, page } = await database.transaction((tx) => take(tx, clock, id, { request, bodyHash }));
      if (queued > 0) await options.wake(queued);
      if (!page || !request.completeSnapshot || page.isOver) return answer;
      const { removed, held } = await completeSnapshot(options, id, page);
      const completed: PushAnswer = {
        ...answer,
        counts: { ...answer.counts, deleted: answer.counts.deleted + removed },
        snapshot: { ...answer.snapshot!, state: 'completed', removed, held },
      };
      await database.transaction((tx) => remember(tx, clock, id, { answer: completed, bodyHash }));
      return completed;
    },
    async state(id) {
      const snapshot = await latestSnapshot(database, id);
      if (!snapshot) return { snapshot: null };
      const { state, nextPage, incomplete, startedAt, updatedAt } = snapshot;
      return { snapshot: { id: snapshot.id, state, nextPage, incomplete, startedAt, updatedAt } };
    },
    settleHeld: (id) => settleHeld(options, id),
  };
}

/** Everything of a request but the removal at the end of a snapshot, in one transaction. */
async function take(
  tx: Transaction,
  clock: Clock,
  id: string,
  { request, bodyHash }: { request: PushRequest; bodyHash: string },
): Promise<Taken> {
  const connection = await requirePushable(tx, id);
  const repeated = await repeatedAnswer(tx, id, request, bodyHash);
  if (repeated) return { answer: repeated, queued: 0, page: null };
  const partition = await requirePartition(tx, id, clock.now());
  const page = await continueSnapshot(tx, { connectionId: id, partition, request, clock });
  const key = { connectionId: id, partitionId: pushedPartition };
  const epoch = page?.epoch ?? partition.epoch;
  const taken = await takePage(tx, { connection, key, epoch, clock }, request.upserts, request.deletes);
  if (page) await snapshotTaken(tx, id, page, { nameless: taken.nameless, now: clock.now() });
  await recordRun(tx, id, { taken, page, now: clock.now() });
  await touchPushConnection(tx, id, clock.now());
  const answer = answerOf(request, taken, page);
  if (!request.completeSnapshot) await remember(tx, clock, id, { answer, bodyHash });
  return { answer, queued: taken.queued, page };
}

/** Many pushes in a row are one run, so that the list of runs stays readable. */
async function recordRun(
  tx: Transaction,
  id: string,
  { taken, page, now }: { taken: TakenPage; page: PageOfSnapshot | null; now: Date },
): Promise<void> {
  const recent = page ? page.runId : await recentPushRun(tx, id, new Date(now.getTime() - sameRunMs));
  const runId = recent ?? newId(now);
  if (!recent) {
    await startRun(tx, { id: runId, connectionId: id, mode: 'incremental', triggerType: 'event', now });
  }
  const { counters, failures } = progressOf(taken);
  await addToRun(tx, runId, { counters, failures }, now);
  if (page) return;
  if (recent) await extendRun(tx, runId, now);
  else await finishRun(tx, runId, { error: null, errorCode: null, now });
}

/** Keeps the answer for a repetition of the request: what failed, and counts of the rest. */
async function remember(
  tx: Transaction,
  clock: Clock,
  id: string,
  { answer, bodyHash }: { answer: PushAnswer; bodyHash: string },
): Promise<void> {
  const { deliveryId } = answer;
  if (deliveryId === null) return;
  const failedOnly = {
    ...answer,
    upserts: answer.upserts.filter(({ status }) => status === 'failed'),
    deletes: answer.deletes.filter(({ status }) => status === 'failed'),
  };
  await insertDelivery(tx, { connectionId: id, deliveryId, bodyHash, answer: failedOnly, now: clock.now() });
}

interface Taken {
  answer: PushAnswer;
  queued: number;
  page: PageOfSnapshot | null;
}

async function requirePushable(tx: Transaction, id: string): Promise<PushConnection> {
  const connection = await lockPushConnection(tx, id);
  if (!connection || connection.status === 'deleting') throw new MemorydError('not_found', 'Connection not found');
  if (connection.provider !== pushProvider) {
    throw new MemorydError('unsupported_operation', `Only connections of ${pushProvider} take pushes`, {
      details: `POST /v3/connections/${pushProvider} makes one`,
    });
  }
  if (connection.status === 'active') return connection;
  throw new MemorydError('conflict', `The connection is ${connection.status}`, { shouldRetry: false });
}

async function repeatedAnswer(
  tx: Transaction,
  connectionId: string,
  { deliveryId }: PushRequest,
  bodyHash: string,
): Promise<PushAnswer | null> {
  if (deliveryId === undefined) return null;
  const known = await findDelivery<PushAnswer>(tx, connectionId, deliveryId);
  if (!known) return null;
  if (known.bodyHash === bodyHash) return { ...known.answer, replayed: true };
  throw new MemorydError('conflict', 'This deliveryId was used for another push', { shouldRetry: false });
}

async function requirePartition(tx: Transaction, connectionId: string, now: Date): Promise<PartitionRow> {
  const find = (rows: readonly PartitionRow[]) => rows.find(({ id }) => id === pushedPartition);
  const known = find(await listPartitions(tx, connectionId));
  if (known) return known;
  const made = { id: pushedPartition, title: 'Pushed items', resource: null };
  return find(await upsertPartitions(tx, connectionId, [made], now))!;
}

function answerOf(request: PushRequest, taken: TakenPage, page: PageOfSnapshot | null): PushAnswer {
  const { upserts, deletes } = taken;
  return {
    deliveryId: request.deliveryId ?? null,
    replayed: false,
    counts: countsOf(upserts, deletes),
    upserts,
    deletes,
    snapshot: page && {
      id: page.id,
      state: page.isOver ? 'completed' : 'open',
      nextPage: page.nextPage,
      removed: 0,
      held: null,
      incomplete: page.incomplete,
    },
  };
}

function countsOf(upserts: readonly UpsertResult[], deletes: readonly DeleteResult[]): PushCounts {
  const count = (...statuses: string[]) => upserts.filter(({ status }) => statuses.includes(status)).length;
  const countDeletes = (wanted: string) => deletes.filter(({ status }) => status === wanted).length;
  return {
    created: count('created'),
    updated: count('updated'),
    unchanged: count('unchanged', 'superseded') + countDeletes('absent'),
    skipped: count('skipped', 'suppressed'),
    deleted: countDeletes('deleted'),
    failed: count('failed') + countDeletes('failed'),
  };
}

function progressOf({ upserts, deletes }: TakenPage) {
  const counts = countsOf(upserts, deletes);
  const counters: RunCounters = {
    itemsSeen: upserts.length,
    itemsAdded: counts.created,
    itemsUpdated: counts.updated,
    itemsDeleted: counts.deleted,
    itemsSkipped: counts.unchanged + counts.skipped,
    itemsFailed: counts.failed,
  };
  const failures = [...upserts, ...deletes].flatMap(({ id, status, error }) =>
    status === 'failed' ? [{ customId: id ?? '', documentId: null, title: null, error: error ?? '' }] : [],
  );
  return { counters, failures };
}

interface RemovalOptions {
  database: Database;
  clock: Clock;
  log: Logger;
  settings: BrakeSettings;
}

const batchSize = 500;

/**
 * Ends a snapshot whose last page is stored: removes what it did not show, unless that is too much or
 * it may not have shown everything. A crash before the end leaves the snapshot open, and repeating its
 * last page goes on.
 */
async function completeSnapshot(
  options: RemovalOptions,
  connectionId: string,
  page: PageOfSnapshot,
): Promise<{ removed: number; held: HeldSweep | null }> {
  const key = { connectionId, partitionId: pushedPartition };
  const { held, removed } = page.incomplete === null ? await removeMissing(options, key, page) : nothing;
  const now = options.clock.now();
  await options.database.transaction(async (tx) => {
    await lockPushConnection(tx, connectionId);
    // Another snapshot may have been begun meanwhile, which then has the listing.
    if ((await findSnapshot(tx, connectionId, page.id))?.state !== 'open') return;
    const { id, nextPage, incomplete, runId } = page;
    await updateSnapshot(tx, connectionId, { id, state: 'completed', nextPage, incomplete, runId, now });
    await finishListing(tx, key, { heldSweep: page.incomplete === null ? held : undefined, now });
    await endRun(tx, page, removed, now);
  });
  return { removed, held };
}

const nothing = { removed: 0, held: null };

/** Removes what a complete snapshot has not shown, unless the brake holds it. */
async function removeMissing(
  options: RemovalOptions,
  key: PartitionKey,
  { epoch, unread }: PageOfSnapshot,
): Promise<{ removed: number; held: HeldSweep | null }> {
  const unseen = { notSeenIn: epoch, except: unread.map(({ path }) => path) };
  const now = options.clock.now();
  await whileActive(options.database, key, (tx) => markUnseen(tx, key, unseen, now));
  const verdict = await brake(options, key, true);
  if (verdict.kind === 'held') return { removed: 0, held: verdict.held };
  const removed = verdict.kind === 'none' ? 0 : await removeAll(options, key, { missedBy: verdict.missedBy });
  if (verdict.kind === 'meant') await options.database.transaction((tx) => forgetRemovals(tx, key));
  await removeAll(options, key, unseen);
  return { removed, held: null };
}

async function endRun(tx: Transaction, page: PageOfSnapshot, removed: number, now: Date): Promise<void> {
  const none = { itemsSeen: 0, itemsAdded: 0, itemsUpdated: 0, itemsSkipped: 0, itemsFailed: 0 };
  const { incomplete, unread } = page;
  const messages = [
    ...(incomplete === null ? [] : [incomplete]),
    ...(unread.length > 0 ? [unreadMessage(unread)] : []),
  ];
  const warnings = messages.map((message) => ({ partitionId: null, code: 'incomplete', message }));
  await addToRun(tx, page.runId, { counters: { ...none, itemsDeleted: removed }, warnings }, now);
  await finishRun(tx, page.runId, { error: null, errorCode: null, now });
}

/** Carries out what a confirmed brake held. A snapshot that ends meanwhile may miss other items: those stay. */
async function settleHeld(options: RemovalOptions, connectionId: string): Promise<void> {
  const key = { connectionId, partitionId: pushedPartition };
  const verdict = await brake(options, key, false);
  if (verdict.kind !== 'meant') return;
  await removeAll(options, key, { missedBy: verdict.missedBy });
  await whileActive(options.database, key, async (tx) => {
    await forgetRemovals(tx, key);
    const partition = (await listPartitions(tx, connectionId)).find(({ id }) => id === pushedPartition);
    if (partition?.heldSweep?.confirmed) await setHeldSweep(tx, key, null, options.clock.now());
  });
}

/** The error for a connection that is no longer active; repeating the last page removes the rest. */
function stopped(): MemorydError {
  return new MemorydError('conflict', 'The connection is no longer active', { shouldRetry: false });
}

/** Removes disappeared items batch by batch; answers how many there were. */
async function removeAll(options: RemovalOptions, key: PartitionKey, which: Unseen | Missed): Promise<number> {
  const { database, clock, settings } = options;
  let removed = 0;
  for (let count = batchSize; count === batchSize;) {
    count = await whileActive(database, key, async (tx, connection) => {
      const now = clock.now();
      const ids = await lockDisappeared(tx, key, which, batchSize);
      await removePushed(tx, { connection, key, now }, ids);
      const noted = { count: ids.length, windowMs: settings.brakeWindowMs, now };
      if ('missedBy' in which && ids.length > 0) await noteRemovals(tx, key, noted);
      return ids.length;
    });
    removed += count;
  }
  return removed;
}

function whileActive<T>(
  database: Database,
  key: PartitionKey,
  work: (tx: Transaction, connection: PushConnection) => Promise<T>,
): Promise<T> {
  return database.transaction(async (tx) => {
    const connection = await lockPushConnection(tx, key.connectionId);
    if (connection?.status !== 'active') throw stopped();
    return work(tx, connection);
  });
}
