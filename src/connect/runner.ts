import { randomUUID } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { newId } from '../base/ids.ts';
import type { Logger } from '../base/log.ts';
import { createExtractor, type Extractor } from '../engine/extract/extractor.ts';
import type { HandOver } from '../engine/hand-over.ts';
import {
  leaseConnection,
  mergeRequests,
  postponeConnection,
  takeRequest,
  type ConnectionRow,
  type RequestedSync,
} from '../store/connections.ts';
import type { Database } from '../store/database.ts';
import { startRun, takeRun, waitingRun, type DryRunReport } from '../store/sync-runs.ts';
import { openConnectionContext } from './connection-context.ts';
import { nextSyncOf, quietUntil } from './connection-schedule.ts';
import type { Connector } from './contract.ts';
import type { Credentials } from './credentials/credentials.ts';
import type { Outbound } from './http/outbound.ts';
import { tryOut } from './dry-run.ts';
import { runFailure, type RunFailure } from './failure.ts';
import { readItemRules } from './item-rules.ts';
import { createLanes, type Lanes } from './lanes.ts';
import { checkPartitions } from './page.ts';
import { endRun } from './run-end.ts';
import { watchRun, type LetGo } from './run-life.ts';
import { createRunReport, type RunReport } from './run-report.ts';
import type { Company, Run, RunSettings } from './run.ts';
import { readScope } from './scope.ts';
import { syncPartitions, type PartitionsOutcome } from './sync-partitions.ts';
import { createVerbs } from './verbs.ts';

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
  /** Absent: no connection has any. */
  credentials?: Credentials;
  /** Absent: connectors cannot send requests. */
  outbound?: Outbound | undefined;
  /** Shared by all runs of the process; without it the run has its turns to itself. */
  lanes?: Lanes;
  /** Absent: one of the run's own. */
  extractor?: Extractor;
  /** Asks other workers to join in fetching; see `joinRun`. */
  invite?(connectionId: string): Promise<void>;
}

/**
 * One sync run of one connection: takes its lease, lists or follows each partition, fetches what
 * the ledger says, and writes how it went. Does nothing when another run has the connection.
 */
export async function runSync(options: RunnerOptions, connectionId: string, stop: AbortSignal): Promise<void> {
  const { database, clock, log, settings } = options;
  const token = randomUUID();
  const now = clock.now();
  const until = new Date(now.getTime() + settings.connectionLeaseMs);
  const connection = await leaseConnection(database, connectionId, { token, until, now });
  if (!connection) return;
  const quiet = quietUntil(connection, now);
  if (quiet) return postponeConnection(database, connectionId, { token, until: quiet });
  const request = requestOf(connection, settings.standardSchedule, now);
  if (request.cancelled) {
    await takeRequest(database, connectionId, request, token);
    return endRun(options, {
      connection,
      request,
      token,
      runId: null,
      report: null,
      performed: null,
      letGo: 'cancelled',
    });
  }
  const runId = await beginRun(options, connection, request);
  await takeRequest(database, connectionId, { ...request, runId }, token);
  const report = createRunReport({ database, clock, runId, leads: true });
  const lease = { token, ms: settings.connectionLeaseMs };
  const life = watchRun({ database, clock, log, report, runId, connectionId, lease });
  const signal = AbortSignal.any([stop, life.signal]);
  let performed: Performed;
  try {
    performed = await perform(options, { runId, connection, request, signal, report });
  } finally {
    await life.close();
  }
  const letGo = life.reason ?? (stop.aborted ? 'stopped' : null);
  await endRun(options, { connection, request, token, runId, report, performed, letGo });
}

/** What a run is to do: what somebody asked for, what was interrupted, or what its time has come for. */
function requestOf(connection: ConnectionRow, standardSchedule: string, now: Date): RequestedSync {
  const { requestedSync, runningSync, lastSyncedAt } = connection;
  if (requestedSync && runningSync) return mergeRequests(runningSync, requestedSync);
  const waiting = requestedSync ?? runningSync;
  if (waiting) return waiting;
  const scheduled = { mode: 'incremental', trigger: 'cron' } as const;
  if (lastSyncedAt === null || connection.failures > 0) return scheduled;
  // Before its scheduled time it is only due for items, or partitions, that are to be tried again.
  const at = nextSyncOf(connection, { failures: 0, itemDueAt: null, now: lastSyncedAt }, standardSchedule);
  return at !== null && at <= now ? scheduled : { ...scheduled, hints: {} };
}

async function beginRun(options: RunnerOptions, connection: ConnectionRow, request: RequestedSync): Promise<string> {
  const { database, clock } = options;
  const now = clock.now();
  const shape = { mode: request.mode, triggerType: request.trigger, dryRun: request.dryRun ?? false, now };
  const waiting = await waitingRun(database, connection.id);
  if (waiting) {
    await takeRun(database, waiting.id, shape);
    return waiting.id;
  }
  const id = newId(now);
  await startRun(database, { id, connectionId: connection.id, ...shape });
  return id;
}

/** How a run went, before anything is concluded from it. */
export interface Performed {
  /** Null when the run did not get to its partitions. */
  partitions: PartitionsOutcome | null;
  dryRun: DryRunReport | null;
  /** About the whole connection. */
  failure: RunFailure | null;
}

export type EndReason = LetGo | 'stopped';

interface Performance {
  runId: string;
  connection: ConnectionRow;
  request: RequestedSync;
  signal: AbortSignal;
  report: RunReport;
}

async function perform(options: RunnerOptions, performance: Performance): Promise<Performed> {
  const performed: Performed = { partitions: null, dryRun: null, failure: null };
  try {
    await withRun(options, performance, companyOf(options, performance.connection.id), async (run) => {
      const shown = checkPartitions(await run.verbs.call('partitions', () => run.connector.partitions(run.context)));
      if (performance.request.dryRun) performed.dryRun = await tryOut(run, shown);
      else performed.partitions = await syncPartitions(run, shown, performance.request);
    });
  } catch (error) {
    performed.failure = runFailure(error);
    if (performed.failure.errorCode === 'internal' && !performance.signal.aborted) {
      options.log.error({ err: error, connectionId: performance.connection.id }, 'sync run failed');
    }
  }
  return performed;
}

/** Opens what a run needs of a connection, and closes it again. Throws what `work` throws. */
export async function withRun<T>(
  options: RunnerOptions,
  performance: Omit<Performance, 'request'>,
  company: Company,
  work: (run: Run) => Promise<T>,
): Promise<T> {
  const { database, clock, log, settings, wake, handOver = null } = options;
  const { connection, signal, report, runId } = performance;
  const lanes = options.lanes ?? createLanes({ slots: settings.partitionConcurrency, clock });
  const extractor = options.extractor ?? createExtractor({ log });
  const loaded = await options.connector(connection.provider);
  const provider = connection.provider;
  const opened = await openConnectionContext(options, { connection, connector: loaded, signal });
  const { connector, context } = opened;
  const verbs = createVerbs({ provider, clock, log, signal, timeoutMs: settings.verbTimeoutMs });
  try {
    const rules = await readItemRules(database);
    const scope = await verbs.call('roots', () => readScope(connection, connector, context, rules));
    const parts = { database, clock, log, settings, wake, handOver, lanes, extractor, verbs, company, scope };
    const { counters } = report;
    return await work({ id: runId, connection, connector, context, signal, report, counters, lane: 'delta', ...parts });
  } finally {
    verbs.close();
    await opened.dispose().catch((error: unknown) => {
      const name = error instanceof Error ? error.name : typeof error;
      log.warn({ provider, error: name }, 'a connector could not be closed');
    });
    if (!options.extractor) await extractor.close();
  }
}

function companyOf(options: RunnerOptions, connectionId: string): Company {
  let invited = false;
  return {
    get invited() {
      return invited;
    },
    async invite() {
      if (!options.invite) return;
      invited = true;
      await options.invite(connectionId);
    },
  };
}
