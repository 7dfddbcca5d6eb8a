import { present } from '../base/collections.ts';
import { partitionRun } from './partition-run.ts';
import type { Team, Run } from './run.ts';
import { createWorkSlots, type Priority } from './work-slots.ts';
import { createRunReport, openRunLease, watchRun } from './run-lease.ts';
import { fetchItems, endedSupply } from './fetching.ts';
import { brokenCircuit, partitionFailure, type PartitionFailure } from './failure.ts';
import type { Partition } from '../connector/contract.ts';
import { runState, waitingRun } from '../store/sync-runs.ts';
import { partitionsWithWork } from '../store/leases.ts';
import { listPartitions, parkPartition, type PartitionRow } from '../store/partitions.ts';
import { findConnection } from '../store/connections.ts';
import type { TaskQueue } from '../queue/task-queue.ts';
import { runSync, withRun, type RunnerOptions } from './runner.ts';

/** Runs that are open at once in one process. They are cheap: nearly always they wait for the source or for their turn. */
const openRuns = 256;

/** Whatever reports changes of sources to this process. */
interface Watching {
  /** Resolves when changes of the connection's source from now on are reported. */
  begin(connectionId: string): Promise<void>;
}

/** Lets this process run syncs, and help with the runs of others. `slots`: units of work at once. */
export async function workOnSyncs(
  queue: TaskQueue,
  options: Omit<RunnerOptions, 'slots'> & { watching?: Watching },
  slots: number,
): Promise<void> {
  const { watching, ...rest } = options;
  const runner: RunnerOptions = { ...rest, slots: createWorkSlots({ count: slots, clock: options.clock }) };
  const sync = async ({ connectionId }: { connectionId: string }, signal: AbortSignal) => {
    // Before the run: what the source reports when it begins to be watched is served by this run then.
    await watching?.begin(connectionId);
    await runSync(runner, connectionId, signal);
  };
  await queue.work('sync-connection', sync, { concurrency: openRuns });
  await queue.work('fetch-items', ({ connectionId }, signal) => joinRun(runner, connectionId, signal), {
    concurrency: openRuns,
  });
}

const helper: Team = { leads: false, invite: async () => {} };

/**
 * Fetches for a run that another worker holds, until nothing waits or the run ends. Does nothing when
 * no run is under way. What this worker has not finished when it dies comes back when its lease ends.
 */
export async function joinRun(options: RunnerOptions, connectionId: string, stop: AbortSignal): Promise<void> {
  const { database, clock, log } = options;
  const row = await waitingRun(database, connectionId);
  const connection = await findConnection(database, connectionId);
  if (!row || row.dryRun || connection?.status !== 'active') return;
  const token = (await runState(database, row.id))?.leaseToken ?? null;
  if (token === null) return;
  const lease = openRunLease(database, { connectionId, token });
  const report = createRunReport({ lease, clock, runId: row.id, leads: false });
  const life = watchRun(options, { id: row.id, lease, report, leads: false });
  const signal = AbortSignal.any([stop, life.signal]);
  try {
    const priority: Priority = row.triggerType === 'manual' ? 'manual' : row.triggerType === 'event' ? 'hook' : 'delta';
    await withRun(options, { runId: row.id, connection, signal, report, lease }, helper, (run) =>
      fetchAll(run, priority),
    );
  } catch (error) {
    // The holder meets the same and judges it; an end of the run is none of this worker's failures.
    if (!signal.aborted) log.warn({ connectionId, error: nameOf(error) }, 'joining a run ended early');
  } finally {
    await life.close();
  }
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : typeof error;
}

async function fetchAll(run: Run, priority: Priority): Promise<void> {
  const { database, connection, clock } = run;
  const left = new Set<string>();
  for (;;) {
    const waiting = await partitionsWithWork(database, connection.id, clock.now());
    const ids = waiting.filter((id) => !left.has(id));
    if (ids.length === 0) return;
    const rows = await listPartitions(database, connection.id);
    for (const row of rows.filter((one) => ids.includes(one.id))) {
      const failure = await fetchPartition(run, row, row.lastListedAt === null ? 'bulk' : priority);
      const key = { connectionId: connection.id, partitionId: row.id };
      if (failure) await run.lease.write((tx) => parkPartition(tx, key, failure, clock.now()));
      // Whatever is still there is in other hands, or waits for the source.
      left.add(row.id);
    }
  }
}

async function fetchPartition(run: Run, row: PartitionRow, priority: Priority): Promise<PartitionFailure | null> {
  const { id, title, resource } = row;
  const partition: Partition = { id, ...present({ title: title ?? undefined, resource: resource ?? undefined }) };
  const part = partitionRun(run, partition, { priority, signal: run.signal });
  try {
    const { trip } = await fetchItems(part, run.fetching, { supply: endedSupply, backfill: false });
    return trip && brokenCircuit(trip, row.failures, run.clock.now());
  } catch (error) {
    run.signal.throwIfAborted();
    const failure = partitionFailure(error, row.failures, run.clock.now());
    if (failure === null || failure.problem === 'auth_expired') throw error;
    return failure;
  }
}
