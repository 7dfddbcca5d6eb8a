import { valueOf } from '../base/collections.ts';
import type { RequestedSync } from '../store/connections.ts';
import { parkPartition, unparkPartition, upsertPartitions, type PartitionRow } from '../store/partitions.ts';
import { sourceMissing, type Partition } from '../connector/contract.ts';
import { brokenCircuit, partitionFailure, type PartitionFailure } from './failure.ts';
import { syncPartition } from './partition-run.ts';
import type { Run } from './run.ts';
import { reconcilePartitions } from './selection.ts';

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
  const rows = await run.hold.write((tx) => upsertPartitions(tx, connection.id, places, clock.now()));
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
        await attempt(part, partition, valueOf(known, partition.id), request, progress);
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

async function attempt(
  run: Run,
  partition: Partition,
  row: PartitionRow,
  request: RequestedSync,
  progress: Progress,
): Promise<void> {
  const waiting = waitsStill(row, request, run.clock.now());
  if (waiting) return report(run, partition, waiting, progress);
  const failure = await failureOf(run, partition, row, request, progress);
  const now = run.clock.now();
  const key = { connectionId: run.connection.id, partitionId: partition.id };
  if (failure === null) {
    progress.healthy += 1;
    if (row.problem !== null) await run.hold.write((tx) => unparkPartition(tx, key, now));
    return;
  }
  await run.hold.write((tx) => parkPartition(tx, key, failure, now));
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
  partition: Partition,
  row: PartitionRow,
  request: RequestedSync,
  progress: Progress,
): Promise<PartitionFailure | null> {
  try {
    if (partition.unread !== undefined) throw sourceMissing(partition.unread);
    const wanted = requestFor(run, row, request);
    const trip = await syncPartition(run, partition, row, wanted, () => progress.answered.add(partition.id));
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
  return { mode: 'incremental', trigger, ...(run.source.has('changes') ? {} : { hints: {} }) };
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
