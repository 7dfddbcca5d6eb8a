import { randomUUID } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { newId } from '../base/ids.ts';
import type { Logger } from '../base/log.ts';
import type { HandOver } from '../engine/hand-over.ts';
import {
  leaseConnection,
  releaseConnection,
  renewConnection,
  setConnectionStatus,
  takeRequest,
  type ConnectionRow,
  type RequestedSync,
} from '../store/connections.ts';
import type { Database } from '../store/database.ts';
import { listPartitions, upsertPartitions, type PartitionRow } from '../store/partitions.ts';
import { nextDueItem, redriveItems } from '../store/sync-items.ts';
import { finishRun, reportRun, startRun, waitingRun, type RunCounters } from '../store/sync-runs.ts';
import { followChanges, lookUpHints } from './changes.ts';
import { createContext } from './context.ts';
import { ConnectorError, type Connector, type Partition, type Resource } from './contract.ts';
import { runFailure, type RunFailure } from './failure.ts';
import { fetchItems } from './fetching.ts';
import { listPartition } from './listing.ts';
import { keyOf, type Run, type RunSettings } from './run.ts';
import { createSupply } from './supply.ts';

export interface RunnerOptions {
  database: Database;
  clock: Clock;
  log: Logger;
  settings: RunSettings;
  connector(name: string): Promise<Connector<any, any>>;
  /** Wakes the workers that process documents. */
  wake(count: number): Promise<void>;
  /** Takes new documents straight on, where this process also processes documents. */
  handOver?: HandOver;
}

const reportEveryMs = 500;

/**
 * One sync run of one connection: takes its lease, lists or follows each partition, fetches what
 * the ledger says, and writes how it went. Does nothing when another run has the connection.
 */
export async function runSync(options: RunnerOptions, connectionId: string, stop: AbortSignal): Promise<void> {
  const { database, clock } = options;
  const lease = randomUUID();
  const until = () => new Date(clock.now().getTime() + options.settings.connectionLeaseMs);
  const connection = await leaseConnection(database, connectionId, { token: lease, until: until(), now: clock.now() });
  if (!connection) return;
  const request = connection.requestedSync ?? { mode: 'incremental' as const, trigger: 'cron' as const };
  await takeRequest(database, connectionId, lease);
  const lost = new AbortController();
  const signal = AbortSignal.any([stop, lost.signal]);
  const runId = await beginRun(options, connection, request);
  const counters = emptyCounters();
  const finished = new AbortController();
  const heartbeat = beat(options, { connectionId, runId, lease, counters }, finished.signal, lost);
  let failure: RunFailure | null = null;
  const failures: Run['failures'] = [];
  try {
    await perform(options, { id: runId, connection, request, signal, counters, failures });
  } catch (error) {
    failure = signal.aborted ? stopped(connection) : runFailure(error);
    if (!signal.aborted && failure.errorCode === 'internal')
      options.log.error({ err: error, connectionId }, 'sync run failed');
  } finally {
    finished.abort();
    await heartbeat;
  }
  await endRun(options, { connection, request, runId, lease, counters, failures, failure, stopped: signal.aborted });
}

async function beginRun(options: RunnerOptions, connection: ConnectionRow, request: RequestedSync): Promise<string> {
  const waiting = await waitingRun(options.database, connection.id);
  if (waiting) return waiting.id;
  const now = options.clock.now();
  const id = newId(now);
  await startRun(options.database, {
    id,
    connectionId: connection.id,
    mode: request.mode,
    triggerType: request.trigger,
    now,
  });
  return id;
}

function emptyCounters(): RunCounters {
  return {
    itemsSeen: 0,
    itemsAdded: 0,
    itemsUpdated: 0,
    itemsDeleted: 0,
    itemsSkipped: 0,
    itemsFailed: 0,
    itemsTotal: null,
  };
}

/** Renews the lease and shows the progress; a lease that is lost (paused, removed) ends the run. */
async function beat(
  options: RunnerOptions,
  run: { connectionId: string; runId: string; lease: string; counters: RunCounters },
  finished: AbortSignal,
  lost: AbortController,
): Promise<void> {
  const { database, clock, settings } = options;
  let renewAt = clock.now().getTime() + settings.connectionLeaseMs / 3;
  let shown = '';
  while (!finished.aborted) {
    await clock.sleep(reportEveryMs, finished);
    const now = clock.now();
    try {
      const counters = JSON.stringify(run.counters);
      if (counters !== shown) await reportRun(database, run.runId, run.counters, now);
      shown = counters;
      if (now.getTime() < renewAt) continue;
      renewAt = now.getTime() + settings.connectionLeaseMs / 3;
      const until = new Date(now.getTime() + settings.connectionLeaseMs);
      if (!(await renewConnection(database, run.connectionId, { token: run.lease, until, now }))) lost.abort();
    } catch (error) {
      options.log.warn({ err: error, connectionId: run.connectionId }, 'progress could not be written');
    }
  }
}

interface Performance {
  id: string;
  connection: ConnectionRow;
  request: RequestedSync;
  signal: AbortSignal;
  counters: RunCounters;
  failures: Run['failures'];
}

async function perform(options: RunnerOptions, performance: Performance): Promise<void> {
  const { connection, signal } = performance;
  const { database, clock, log, settings, wake, handOver = null } = options;
  const connector = await options.connector(connection.provider);
  const { context, dispose } = createContext({
    connector,
    config: connection.config,
    selection: connection.selection as unknown as Resource[],
    clock,
    log,
    signal,
  });
  const run: Run = { ...performance, connector, context, database, clock, log, settings, wake, handOver };
  try {
    const partitions = await connector.partitions(context);
    const rows = await upsertPartitions(
      database,
      connection.id,
      partitions.map(({ id, title, resource }) => ({ id, title: title ?? null, resource: resource ?? null })),
      clock.now(),
    );
    const byId = new Map(rows.map((row) => [row.id, row]));
    for (const partition of partitions) {
      await syncPartition(run, partition, byId.get(partition.id)!, performance.request);
    }
  } finally {
    await dispose();
  }
}

/** Lists or follows one partition while its items are fetched beside it. */
async function syncPartition(run: Run, partition: Partition, row: PartitionRow, request: RequestedSync): Promise<void> {
  if (request.mode === 'full' && row.listingStartedAt === null) {
    await redriveItems(run.database, keyOf(run, partition), ['failed', 'skipped'], run.clock.now());
  }
  const supply = createSupply();
  const discover = async () => {
    try {
      await discoverItems(run, partition, row, request, supply.added);
    } finally {
      supply.end();
    }
  };
  // Both are awaited to their ends even when one fails, so that nothing of a run goes on after it.
  const outcomes = await Promise.allSettled([discover(), fetchItems(run, partition, supply)]);
  const failed = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failed) throw failed.reason;
}

async function discoverItems(
  run: Run,
  partition: Partition,
  row: PartitionRow,
  request: RequestedSync,
  onPage: () => void,
): Promise<void> {
  const hinted = request.hints?.[partition.id];
  const listed = row.listingStartedAt === null && row.lastListedAt !== null;
  if (request.hints && listed && request.mode === 'incremental') {
    const answered = hinted === undefined || (await lookUpHints(run, partition, row, hinted));
    if (answered) return onPage();
  }
  if (listed && request.mode === 'incremental' && run.connector.changes && row.position !== null) {
    try {
      if (!reconcileDue(run, row)) return await followChanges(run, partition, row, onPage);
    } catch (error) {
      if (!ConnectorError.is(error) || error.kind !== 'cursor_expired') throw error;
      run.log.info({ connectionId: run.connection.id }, 'position expired, listing again');
    }
  }
  await listPartition(run, partition, row, onPage);
  if (!run.connector.changes || !run.connector.head) return;
  const rows = await listPartitions(run.database, run.connection.id);
  const relisted = rows.find((one) => one.id === partition.id);
  if (relisted) await followChanges(run, partition, relisted, onPage);
}

function reconcileDue(run: Run, row: PartitionRow): boolean {
  const everyMs = run.connector.spec.schedule?.reconcileEveryMs;
  if (everyMs === undefined || row.lastListedAt === null) return false;
  return run.clock.now().getTime() - row.lastListedAt.getTime() >= everyMs;
}

function stopped(connection: ConnectionRow): RunFailure {
  return {
    errorCode: 'internal',
    message: 'The run was stopped; the next one goes on from its last checkpoint.',
    status: connection.status as 'active',
    retryAt: null,
  };
}

interface Ending {
  connection: ConnectionRow;
  request: RequestedSync;
  runId: string;
  lease: string;
  counters: RunCounters;
  failures: Run['failures'];
  failure: RunFailure | null;
  stopped: boolean;
}

async function endRun(options: RunnerOptions, ending: Ending): Promise<void> {
  const { database, clock, log } = options;
  const { connection, failure, counters } = ending;
  const now = clock.now();
  await reportRun(database, ending.runId, counters, now);
  await finishRun(database, ending.runId, {
    error: failure?.message ?? null,
    errorCode: failure?.errorCode ?? null,
    failures: ending.failures,
    now,
  });
  const failures = failure && !ending.stopped ? connection.failures + 1 : failure ? connection.failures : 0;
  const listed = failure === null && !ending.request.hints;
  if (failure && failure.status !== 'active') {
    await setConnectionStatus(database, connection.id, { status: failure.status, reason: failure.message, now });
  }
  await releaseConnection(database, connection.id, {
    token: ending.lease,
    failures,
    reason: failure?.message ?? null,
    syncedAt: listed ? now : null,
    nextSyncAt: await nextSync(options, ending, failures, listed ? now : connection.lastSyncedAt),
    now,
  });
  const { errorCode } = failure ?? { errorCode: undefined };
  log.info({ connectionId: connection.id, provider: connection.provider, errorCode, ...counters }, 'sync run ended');
}

/** The schedule counts from the last run that looked at everything; failures and failed items can bring it forward. */
async function nextSync(
  options: RunnerOptions,
  ending: Ending,
  failures: number,
  syncedAt: Date | null,
): Promise<Date | null> {
  const { connection, failure } = ending;
  const now = options.clock.now().getTime();
  if (ending.stopped) return new Date(now);
  if (failure?.retryAt) return failure.retryAt;
  const everyMs = connection.syncEveryMs;
  if (failure) return new Date(now + Math.min(everyMs ?? Infinity, 30_000 * 2 ** Math.min(failures - 1, 10)));
  const due = await nextDueItem(options.database, connection.id);
  const scheduled = everyMs === null ? Infinity : (syncedAt?.getTime() ?? now) + everyMs;
  const next = Math.min(scheduled, due?.getTime() ?? Infinity);
  return Number.isFinite(next) ? new Date(Math.max(next, now)) : null;
}
