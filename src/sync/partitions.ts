import { valueOf } from '../base/collections.ts';
import type { RequestedSync } from '../store/connections.ts';
import {
  parkPartition,
  unparkPartition,
  upsertPartitions,
  type PartitionRow,
  listPartitions,
} from '../store/partitions.ts';
import { sourceMissing, type Partition } from '../connector/contract.ts';
import { brokenCircuit, partitionFailure, type PartitionFailure } from './failure.ts';
import { ledgerOf, syncPartition, type PartitionTask } from './partition-run.ts';
import type { Run, Ledger } from './run.ts';
import { deletePartition, missPartitions, returnPartitions, startRemoval, lockSomeItems } from '../store/coverage.ts';
import { batchSize, inBatches, removeItems } from './removal.ts';

/** How the partitions of a run went. */
export interface PartitionsOutcome {
  ids: string[];
  /** Those that went well. */
  healthy: number;
  /** Those that wait, also from earlier runs, with the reason. */
  problems: { partition: Partition; failure: PartitionFailure }[];
}

interface Progress extends PartitionsOutcome {
  /** Partitions in which the source has answered. */
  answered: Set<string>;
}

/**
 * Syncs partitions side by side. One in which something goes wrong waits with a reason, and the others
 * go on; throws what is about the whole connection, when all have ended.
 */
export async function syncPartitions(
  run: Run,
  shown: readonly Partition[],
  request: RequestedSync,
): Promise<PartitionsOutcome> {
  const { connection, clock, settings } = run;
  const places = shown.map(({ id, title, resource }) => ({ id, title: title ?? null, resource: resource ?? null }));
  const rows = await run.lease.write((tx) => upsertPartitions(tx, connection.id, places, clock.now()));
  const known = new Map((await reconcilePartitions(run, shown, rows)).map((row) => [row.id, row]));
  const ids = shown.map((partition) => partition.id);
  const progress: Progress = { ids, healthy: 0, problems: [], answered: new Set() };
  const halt = new AbortController();
  const part: Run = { ...run, signal: AbortSignal.any([run.signal, halt.signal]) };
  const queue = [...shown];
  let failed: { error: unknown } | null = null;
  const worker = async () => {
    for (let partition = queue.shift(); partition && !part.signal.aborted; partition = queue.shift()) {
      try {
        await attempt(part, { partition, row: valueOf(known, partition.id), request }, progress);
      } catch (error) {
        failed ??= { error };
        halt.abort(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(settings.partitionConcurrency, shown.length) }, worker));
  run.signal.throwIfAborted();
  if (failed) throw (failed as { error: unknown }).error;
  return progress;
}

async function attempt(run: Run, task: PartitionTask, progress: Progress): Promise<void> {
  const { partition, row, request } = task;
  const waiting = waitsStill(row, request, run.clock.now());
  if (waiting) return report(run, partition, waiting, progress);
  const failure = await failureOf(run, task, progress);
  const now = run.clock.now();
  const key = { connectionId: run.connection.id, partitionId: partition.id };
  if (failure === null) {
    progress.healthy += 1;
    if (row.problem !== null) await run.lease.write((tx) => unparkPartition(tx, key, now));
    return;
  }
  await run.lease.write((tx) => parkPartition(tx, key, failure, now));
  run.log.warn(
    { connectionId: run.connection.id, partitionId: partition.id, problem: failure.problem, until: failure.until },
    'a partition waits',
  );
  report(run, partition, failure, progress);
}

function report(run: Run, partition: Partition, failure: PartitionFailure, progress: Progress): void {
  const until = failure.until.toISOString().slice(0, 16).replace('T', ' ');
  const code = failure.state === 'paused' ? 'partition_paused' : 'partition_parked';
  run.report.warn(partition.id, code, `${failure.reason} It is tried again at ${until} UTC; its items are kept.`);
  progress.problems.push({ partition, failure });
}

/** The partition's failure, or null. Throws errors that concern the whole connection. */
async function failureOf(
  run: Run,
  { partition, row, request }: PartitionTask,
  progress: Progress,
): Promise<PartitionFailure | null> {
  try {
    if (partition.unread !== undefined) throw sourceMissing(partition.unread);
    const wanted = requestFor(run, row, request);
    const trip = await syncPartition(run, { partition, row, request: wanted }, () =>
      progress.answered.add(partition.id),
    );
    return trip && brokenCircuit(trip, row.failures, run.clock.now());
  } catch (error) {
    run.signal.throwIfAborted();
    const failure = partitionFailure(error, row.failures, run.clock.now());
    progress.answered.delete(partition.id);
    // An authorization that still works elsewhere is not lost: it only does not reach this partition.
    if (failure === null || (failure.problem === 'auth_expired' && progress.answered.size === 0)) throw error;
    return failure;
  }
}

/**
 * A run that goes on where another one was interrupted lists no partition again that the other had
 * listed to its end, unless somebody asked for a sync meanwhile.
 */
function requestFor(run: Run, row: PartitionRow, request: RequestedSync): RequestedSync {
  const { runningSync: interrupted, requestedSync: asked } = run.connection;
  const isDone = row.listedRun !== null && row.listedRun === interrupted?.runId && row.listingStartedAt === null;
  if (!isDone || interrupted?.dryRun) return request;
  if (asked && !asked.cancelled) return asked;
  const { trigger } = request;
  return { mode: 'incremental', trigger, hints: run.source.has('changes') ? undefined : {} };
}

/** A partition that is left alone for now. Somebody who asks for a sync overrides all but the source's own limits. */
function waitsStill(row: PartitionRow, request: RequestedSync, now: Date): PartitionFailure | null {
  const { parkedUntil: until, problem } = row;
  if (until === null || problem === null || until <= now) return null;
  if (problem !== 'rate_limited' && request.trigger === 'manual') return null;
  return {
    state: row.state === 'paused' ? 'paused' : 'parked',
    problem: problem as PartitionFailure['problem'],
    errorCode: errorCodes[problem as PartitionFailure['problem']] ?? 'provider_unavailable',
    reason: row.stateReason ?? 'It waits.',
    until,
  };
}

const errorCodes: Partial<Record<PartitionFailure['problem'], PartitionFailure['errorCode']>> = {
  rate_limited: 'rate_limited',
  auth_expired: 'auth_expired',
  connector_fault: 'internal',
};

/** How long a partition that the source no longer shows keeps its documents. */
export const missingGraceMs = 7 * 86_400_000;

/**
 * Compares the partitions that the connector shows with those that are known. One that the user does
 * not select any more is removed with its documents; one that vanished by itself keeps them for a
 * while, because that may be a loss of access, and for good while something that was chosen cannot be
 * reached, which may be this one; one that is back goes on where it was. Answers the rows as they are then.
 */
async function reconcilePartitions(
  run: Run,
  shown: readonly Partition[],
  rows: readonly PartitionRow[],
): Promise<PartitionRow[]> {
  const { database, connection, clock } = run;
  const ids = new Set(shown.map((partition) => partition.id));
  const now = clock.now();
  const returned = rows.filter((row) => ids.has(row.id) && row.missingSince !== null).map((row) => row.id);
  if (returned.length > 0) {
    const options = { selection: connection.selection, now };
    await run.lease.write((tx) => returnPartitions(tx, connection.id, returned, options));
  }
  const isWhole = shown.every(({ unread }) => unread === undefined);
  const missing = rows.filter((row) => !ids.has(row.id) && (isWhole || isUnselected(connection.selection, row)));
  for (const row of missing) await missPartition(run, row);
  return returned.length + missing.length > 0 ? listPartitions(database, connection.id) : [...rows];
}

async function missPartition(run: Run, row: PartitionRow): Promise<void> {
  const now = run.clock.now();
  const unselected = isUnselected(run.connection.selection, row);
  const isKept = row.missingSince !== null && row.removeAt === null;
  const isEmpty = row.lastListedAt === null && row.listingStartedAt === null;
  if (row.state === 'removing' || isEmpty || (unselected && !isKept)) return removePartition(ledgerOf(run, row.id));
  if (row.removeAt !== null && row.removeAt <= now) return removePartition(ledgerOf(run, row.id));
  if (row.missingSince !== null) return;
  const removeAt = new Date(now.getTime() + missingGraceMs);
  const reason = `The source no longer shows it. Its documents are removed on ${removeAt.toISOString().slice(0, 10)} unless it is back by then.`;
  await run.lease.write((tx) => missPartitions(tx, run.connection.id, [row.id], { reason, removeAt, now }));
  run.log.warn({ connectionId: run.connection.id, partitionId: row.id }, 'the source no longer shows a partition');
}

/** Whether the selection leaves a partition out. An empty selection is everything. */
export function isUnselected(selection: readonly Record<string, unknown>[], { resource }: PartitionRow): boolean {
  return selection.length > 0 && resource !== null && !selection.some((one) => String(one.id) === resource);
}

/** Removes a partition with its items and documents, batch by batch; interrupted, the next run goes on. */
async function removePartition(ledger: Ledger): Promise<void> {
  const { key, lease, clock, report } = ledger;
  await lease.write((tx) => startRemoval(tx, key, clock.now()));
  await inBatches(ledger, async (tx) => {
    const ids = await lockSomeItems(tx, key, batchSize);
    const removed = await removeItems(tx, ledger, ids);
    report.counters.itemsDeleted += removed;
    return ids.length;
  });
  await lease.write((tx) => deletePartition(tx, key));
}
