import type { Clock } from '../base/clock.ts';
import { MemorydError } from '../base/errors.ts';
import { newId } from '../base/ids.ts';
import { requestSync, type ConnectionRow } from '../store/connections.ts';
import type { Database } from '../store/database.ts';
import { forgetJudgements } from '../store/coverage.ts';
import { heldDeletesOf, listPartitions, type PartitionRow } from '../store/partitions.ts';
import {
  cancelRun,
  failLostRuns,
  findRun,
  latestRuns,
  listRuns,
  startRun,
  waitingRun,
  type SyncRunRow,
} from '../store/sync-runs.ts';
import { retrySelected } from '../store/sync-items-list.ts';
import {
  type ConnectionProgress,
  type SyncRun,
  requireConnection,
  type SyncMode,
  type SyncTrigger,
  type PartitionIssue,
} from './connection-types.ts';
import { createCounts, type Counts } from './counts.ts';
import { unreadMessage } from '../sync/check-page.ts';

export interface RunServiceOptions {
  database: Database;
  clock: Clock;
  /** Default: counts of its own. */
  counts?: Counts;
  /** Wakes a worker for the connection. */
  wake(connectionId: string): Promise<void>;
}

/** A run that shows no life for this long has lost its worker. */
const lostAfterMs = 10 * 60_000;

export function createSyncRuns(options: RunServiceOptions): SyncRuns {
  const { database, clock, counts = createCounts(options) } = options;
  return {
    async requestSync(id, request) {
      const connection = await requireConnection(database, id);
      requireActive(connection);
      const now = clock.now();
      await failLostRuns(database, { heartbeatBefore: new Date(now.getTime() - lostAfterMs), now });
      const running = await waitingRun(database, id);
      if (running && request.dryRun) throw conflict('A sync is running; try again when it is over.');
      const run = running ? null : await announce(options, id, request);
      // A first run that reads no more would leave what is due now to the next one.
      const isServed = running && joins(connection, running) && !request.restoreDeleted && !request.onlyDue;
      if (!isServed) await store(options, id, request);
      if (run) return run;
      if (running && joins(connection, running)) return toRun(running);
      throw conflict('A sync is running; another one follows it.');
    },
    async runs(id, page) {
      await requireConnection(database, id);
      return (await listRuns(database, id, page)).map(toRun);
    },
    run: (id, runId) => findShown(database, id, runId),
    async cancelRun(id, runId) {
      await requireConnection(database, id);
      const run = runId === undefined ? await waitingRun(database, id) : await findRun(database, id, runId);
      if (!run && runId !== undefined) throw new MemorydError('not_found', 'Sync run not found');
      if (!run) throw conflict('No sync is running.');
      const cancelled = await cancelRun(database, run.id, clock.now());
      if (!cancelled && run.cancelledAt === null) throw conflict('The sync is over already.');
      return toRun(cancelled ?? run);
    },
    async progress(id) {
      const connection = await requireConnection(database, id);
      const [run] = await latestRuns(database, [id]);
      const documents = (await counts.documentsOf([id])).get(id);
      const partitions = await listPartitions(database, id);
      return {
        run: run ? toRun(run) : null,
        items: await counts.itemsOf(id, run),
        documents: countsOf(documents),
        heldDeletes: heldDeletesOf(partitions),
        problems: issuesOf(connection, partitions),
      };
    },
  };
}

async function findShown(database: Database, id: string, runId: string): Promise<SyncRun | null> {
  const row = await findRun(database, id, runId);
  return row && toRun(row);
}

/** Makes the run visible at once, before a worker has taken it. */
async function announce(
  { database, clock }: RunServiceOptions,
  id: string,
  { mode, trigger, dryRun = false }: SyncRequest,
): Promise<SyncRun> {
  const now = clock.now();
  const runId = newId(now);
  await startRun(database, { id: runId, connectionId: id, mode, triggerType: trigger, dryRun, now });
  return (await findShown(database, id, runId))!;
}

async function store({ database, clock, wake }: RunServiceOptions, id: string, request: SyncRequest): Promise<void> {
  const { mode, trigger, dryRun, onlyDue, restoreDeleted } = request;
  const now = clock.now();
  await database.transaction(async (tx) => {
    // It locks the connection, as every run does before it touches the items.
    await requestSync(tx, id, { mode, trigger, hints: onlyDue ? {} : undefined, dryRun: dryRun || undefined }, { now });
    if (restoreDeleted) {
      await retrySelected(tx, id, { states: ['suppressed'], errorClasses: [] }, now);
      await forgetJudgements(tx, id);
    }
  });
  await wake(id);
}

/** None of a connection without documents. */
function countsOf(counted: Partial<ConnectionProgress['documents']> = {}): ConnectionProgress['documents'] {
  const { waiting = 0, foundByWords = 0, done = 0, failed = 0 } = counted;
  return { waiting, foundByWords, done, failed };
}

/**
 * Whether who asks for a sync gets the run that there is: the first one of a connection, which nobody asked
 * for and which looks at everything anyway.
 */
function joins({ lastSyncedAt }: ConnectionRow, { triggerType }: SyncRunRow): boolean {
  return lastSyncedAt === null && triggerType !== 'manual';
}

function requireActive({ status, statusReason }: ConnectionRow): void {
  if (status === 'active') return;
  throw new MemorydError('conflict', `The connection is ${status}`, {
    shouldRetry: false,
    details: statusReason ?? undefined,
  });
}

function conflict(message: string): MemorydError {
  return new MemorydError('conflict', message, { shouldRetry: false });
}

export function toRun(row: SyncRunRow): SyncRun {
  return {
    ...row,
    etaMs: etaMsOf(row),
    status: row.status as SyncRun['status'],
    mode: row.mode as SyncRun['mode'],
    triggerType: row.triggerType as SyncRun['triggerType'],
  };
}

function etaMsOf({ status, itemsTotal, itemsProcessed, itemsPerSecond }: SyncRunRow): number | null {
  if (status !== 'running' || itemsTotal === null || !itemsPerSecond) return null;
  return Math.round((Math.max(0, itemsTotal - itemsProcessed) / itemsPerSecond) * 1_000);
}

/** Operations on the sync runs of a connection. */
export interface SyncRuns {
  /** Asks for a sync; `conflict` while one of the same kind runs. Answers the run that will serve it. */
  requestSync(id: string, options: SyncRequest): Promise<SyncRun>;
  /** Newest first. */
  runs(id: string, options: { limit: number; before?: string | undefined }): Promise<SyncRun[]>;
  run(id: string, runId: string): Promise<SyncRun | null>;
  /** Ends a run, the running one when none is named. `conflict` when it is over already. */
  cancelRun(id: string, runId?: string): Promise<SyncRun>;
  progress(id: string): Promise<ConnectionProgress>;
}

export interface SyncRequest {
  mode: SyncMode;
  trigger: SyncTrigger;
  /** Reads again also what the user deleted here. */
  restoreDeleted?: boolean;
  /** Only says what would be added, updated and deleted. */
  dryRun?: boolean;
  /** Lists nothing: only reads the items whose time has come. */
  onlyDue?: boolean;
}

/** Problems that keep a connection from mirroring all of its source at once, by partition. */
export function issuesOf(
  { status, unwatched }: Pick<ConnectionRow, 'status' | 'unwatched'>,
  partitions: readonly PartitionRow[],
): PartitionIssue[] {
  const late = status === 'active' && unwatched !== null ? [unwatchedIssue(unwatched)] : [];
  return [...partitions.flatMap(issueOf), ...late];
}

function unwatchedIssue(reason: string): PartitionIssue {
  return { partition: null, title: null, state: 'paused', code: 'unwatched', reason, until: null };
}

function issueOf(row: PartitionRow): PartitionIssue[] {
  const { id, title, state, problem, stateReason, parkedUntil, missingSince, removeAt } = row;
  if (missingSince !== null) {
    const reason = stateReason ?? 'The source no longer shows it.';
    return [{ partition: id, title, state: 'paused', code: 'missing', reason, until: removeAt }];
  }
  const partial = partialIssue(row);
  if (problem === null) return partial;
  const left = state === 'paused' ? 'paused' : 'parked';
  const reason = stateReason ?? problem;
  return [{ partition: id, title, state: left, code: problem, reason, until: parkedUntil }, ...partial];
}

/** Parts that the last listing could not see; somebody has to grant access. */
function partialIssue(row: PartitionRow): PartitionIssue[] {
  const { id, title, unread, listingIncomplete, listingStartedAt } = row;
  const reasons = [
    ...(unread.length > 0 ? [unreadMessage(unread)] : []),
    ...(listingIncomplete !== null && listingStartedAt === null
      ? [`Nothing is removed, because the last listing was not complete: ${listingIncomplete}`]
      : []),
  ];
  const issue = { partition: id, title, state: 'paused', code: 'incomplete_listing', until: null } as const;
  return reasons.map((reason) => ({ ...issue, reason }));
}
