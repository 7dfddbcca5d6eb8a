import { randomUUID } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { newId } from '../base/ids.ts';
import type { Logger } from '../base/log.ts';
import { createTextWork, type Extractor } from '../engine/text/text-work.ts';
import type { HandOver } from '../engine/process.ts';
import {
  findConnection,
  leaseConnection,
  mergeRequests,
  postponeConnection,
  takeRequest,
  type ConnectionRow,
  type RequestedSync,
  releaseConnection,
  setConnectionStatus,
} from '../store/connections.ts';
import type { Database, Transaction } from '../store/database.ts';
import { isLeaseLost, nextDue } from '../store/leases.ts';
import { releaseItemsOf } from '../store/sync-items.ts';
import { startRun, takeRun, waitingRun, type DryRunReport, finishRun } from '../store/sync-runs.ts';
import { openConnectionContext } from '../source/context.ts';
import { nextSyncOf, quietUntil } from '../schedule/connection-schedule.ts';
import type { Connector } from '../connector/contract.ts';
import type { Credentials } from '../auth/credentials.ts';
import type { Outbound } from '../source/http/outbound.ts';
import { tryOut } from './dry-run.ts';
import { runFailure, type RunFailure } from './failure.ts';
import type { Team, Run, RunSettings } from './run.ts';
import { createWorkSlots, type WorkSlots } from './work-slots.ts';
import { openRunLease, type RunLease, watchRun, type LetGo, createRunReport, type RunReport } from './run-lease.ts';
import { readCoverage, createDocumentLimit, readItemRules } from './coverage.ts';
import { syncPartitions, type PartitionsOutcome } from './partitions.ts';
import { openSource, createVerbs } from './source.ts';

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
  /** Shared by all runs of the process; without it the run has slots of its own. */
  slots?: WorkSlots;
  /** Absent: one of the run's own. */
  extractor?: Extractor;
  /** Asks other workers to join in fetching; see `joinRun`. */
  invite?(connectionId: string): Promise<void>;
}

/**
 * One sync run of one connection: takes its lease, lists or follows each partition, fetches what
 * the ledger says, and writes how it went. Does nothing when another run has the connection. One that
 * loses it to another run ends there, and leaves everything to that one.
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
  const lease = openRunLease(database, { connectionId, token });
  try {
    await runLeased(options, lease, stop);
  } catch (error) {
    if (!isLeaseLost(error)) throw error;
    log.info({ connectionId, provider: connection.provider }, 'sync run superseded by another');
  }
}

async function runLeased(options: RunnerOptions, lease: RunLease, stop: AbortSignal): Promise<void> {
  const { clock } = options;
  const begun = await lease.writeAlone((tx) => beginRun(tx, options, lease));
  const { connection, request, runId } = begun;
  if (runId === null) return endRun(options, { ...begun, lease, performed: null, letGo: 'cancelled' });
  const report = createRunReport({ lease, clock, runId, leads: true });
  const life = watchRun(options, { id: runId, lease, report, leads: true });
  const signal = AbortSignal.any([stop, life.signal]);
  let performed: Performed;
  try {
    performed = await perform(options, { runId, connection, request, signal, report, lease });
  } finally {
    await life.close();
  }
  await endRun(options, { ...begun, lease, performed, letGo: life.reason ?? (stop.aborted ? 'stopped' : null) });
}

/** The request to serve: one that somebody made, one that was interrupted, or the scheduled one that is due. */
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

interface Begun {
  connection: ConnectionRow;
  request: RequestedSync;
  /** Null when the request was cancelled before a worker took it. */
  runId: string | null;
}

/**
 * Takes the request that waits, with what was asked until this moment, and makes the run visible. Items that
 * the workers of a lost run held are free again: whatever these still bring is refused.
 */
async function beginRun(tx: Transaction, { clock, settings }: RunnerOptions, lease: RunLease): Promise<Begun> {
  const now = clock.now();
  const connection = (await findConnection(tx, lease.connectionId))!;
  const request = requestOf(connection, settings.standardSchedule, now);
  await releaseItemsOf(tx, connection.id, now);
  const runId = request.cancelled ? null : await showRun(tx, connection.id, request, now);
  await takeRequest(tx, connection.id, runId === null ? request : { ...request, runId });
  return { connection, request, runId };
}

async function showRun(tx: Transaction, connectionId: string, request: RequestedSync, now: Date): Promise<string> {
  const shape = { mode: request.mode, triggerType: request.trigger, dryRun: request.dryRun ?? false, now };
  const waiting = await waitingRun(tx, connectionId);
  if (waiting) {
    await takeRun(tx, waiting.id, shape);
    return waiting.id;
  }
  const id = newId(now);
  await startRun(tx, { id, connectionId, ...shape });
  return id;
}

/** How a run went, before anything is concluded from it. */
interface Performed {
  /** Null when the run did not get to its partitions. */
  partitions: PartitionsOutcome | null;
  dryRun: DryRunReport | null;
  /** About the whole connection. */
  failure: RunFailure | null;
}

type EndReason = LetGo | 'stopped';

interface Performance {
  runId: string;
  connection: ConnectionRow;
  request: RequestedSync;
  signal: AbortSignal;
  report: RunReport;
  lease: RunLease;
}

async function perform(options: RunnerOptions, performance: Performance): Promise<Performed> {
  const performed: Performed = { partitions: null, dryRun: null, failure: null };
  try {
    await withRun(options, performance, teamOf(options, performance.connection.id), async (run) => {
      const shown = await run.source.partitions();
      if (performance.request.dryRun) performed.dryRun = await tryOut(run, shown);
      else performed.partitions = await syncPartitions(run, shown, performance.request);
    });
  } catch (error) {
    if (isLeaseLost(error)) throw error;
    performed.failure = runFailure(error);
    // What somebody has to configure is said to them, and is no fault of the program.
    const { errorCode, status } = performed.failure;
    if (errorCode === 'internal' && status !== 'needs_configuration' && !performance.signal.aborted) {
      options.log.error({ err: error, connectionId: performance.connection.id }, 'sync run failed');
    }
  }
  return performed;
}

/** Opens what a run needs of a connection, and closes it again. Throws what `work` throws. */
export async function withRun<T>(
  options: RunnerOptions,
  performance: Omit<Performance, 'request'>,
  team: Team,
  work: (run: Run) => Promise<T>,
): Promise<T> {
  const { database, clock, log, settings, wake, handOver = null } = options;
  const { runId: id, connection, signal, report, lease } = performance;
  const slots = options.slots ?? createWorkSlots({ count: settings.partitionConcurrency, clock });
  const own = options.extractor ? undefined : createTextWork({ log });
  const extractor = options.extractor ?? own!;
  const { provider } = connection;
  const loaded = await options.connector(provider);
  const opened = await openConnectionContext(options, { connection, connector: loaded, signal });
  const { connector, context } = opened;
  const verbs = createVerbs({ provider, clock, log, signal, timeoutMs: settings.verbTimeoutMs });
  const source = openSource({ connector, context, verbs, report });
  try {
    const rules = await readItemRules(database);
    const coverage = await verbs.call('roots', () => readCoverage(connection, connector, context, rules));
    const documentLimit = createDocumentLimit({ connectionId: connection.id, limit: coverage.limit, lease, clock });
    const fetching = { extractor, wake, handOver, team };
    const parts = { database, lease, clock, log, signal, report, settings, slots };
    return await work({ id, connection, source, coverage, documentLimit, fetching, ...parts });
  } finally {
    verbs.close();
    await opened.dispose().catch((error: unknown) => {
      const name = error instanceof Error ? error.name : typeof error;
      log.warn({ provider, error: name }, 'a connector could not be closed');
    });
    await own?.close();
  }
}

function teamOf(options: RunnerOptions, connectionId: string): Team {
  return {
    leads: true,
    async invite() {
      await options.invite?.(connectionId);
    },
  };
}

interface Ending {
  connection: ConnectionRow;
  request: RequestedSync;
  lease: RunLease;
  /** Null when it ended before there was a run. */
  runId: string | null;
  performed: Performed | null;
  /** Why the run was ended before its time; null when it was not. */
  letGo: EndReason | null;
}

/**
 * Writes how a run ended, and gives the connection back with the time of its next one. What another run has
 * taken over is not touched: that one says how it ended.
 */
async function endRun(options: RunnerOptions, ending: Ending): Promise<void> {
  const { connection, performed, letGo, runId } = ending;
  const failure = letGo ? interrupted(letGo) : (performed?.failure ?? failureOfAll(performed?.partitions));
  if (letGo !== 'superseded') await ending.lease.writeAlone((tx) => writeEnd(tx, options, ending, failure));
  const { errorCode = null } = failure ?? {};
  const details = { connectionId: connection.id, provider: connection.provider, runId, errorCode };
  options.log.info({ ...details, letGo, partitions: performed?.partitions?.ids.length }, 'sync run ended');
}

async function writeEnd(
  tx: Transaction,
  options: RunnerOptions,
  ending: Ending,
  failure: RunFailure | null,
): Promise<void> {
  const { connection, performed, letGo } = ending;
  const now = options.clock.now();
  const isCancelled = !(await finish(tx, ending, failure, now));
  if (failure && failure.status !== 'active') {
    await setConnectionStatus(tx, connection.id, { status: failure.status, reason: failure.message, now });
  }
  const wasStopped = !isCancelled && (letGo === 'stopped' || letGo === 'paused');
  const isListed = failure === null && !ending.request.hints && !ending.request.dryRun && !isCancelled;
  const isOwnFault = failure !== null && letGo === null && !isCancelled && !performed?.partitions;
  const isWell = failure === null && !ending.request.dryRun;
  const failures = isOwnFault ? connection.failures + 1 : isWell ? 0 : connection.failures;
  const end = { failures, failure, isCancelled, isListed, now };
  await releaseConnection(tx, connection.id, {
    token: ending.lease.token,
    failures,
    reason: letGo ? connection.statusReason : (failure?.message ?? reasonOfSome(performed?.partitions)),
    syncedAt: isListed ? now : null,
    unfinished: wasStopped,
    nextSyncAt: wasStopped ? now : await nextSync(tx, options, ending, end),
    now,
  });
}

/** False when the run was cancelled, which says all that is to be said. */
async function finish(
  tx: Transaction,
  { runId, performed, letGo }: Ending,
  failure: RunFailure | null,
  now: Date,
): Promise<boolean> {
  if (runId === null || letGo === 'cancelled') return false;
  const { message = null, errorCode = null } = failure ?? {};
  return finishRun(tx, runId, { error: message, errorCode, report: performed?.dryRun ?? null, now });
}

function interrupted(why: EndReason): RunFailure {
  const messages = {
    cancelled: 'cancelled',
    paused: 'The connection was paused; the next run goes on from here.',
    stopped: 'The run was stopped; the next one goes on from its last checkpoint.',
    superseded: 'Another worker went on with the run.',
  };
  return { errorCode: why === 'stopped' ? 'internal' : null, message: messages[why], status: 'active', retryAt: null };
}

/** A run has failed when no partition of it went well. */
function failureOfAll(partitions: PartitionsOutcome | null | undefined): RunFailure | null {
  if (!partitions || partitions.healthy > 0 || partitions.problems.length === 0) return null;
  const [{ partition, failure }] = partitions.problems as [PartitionsOutcome['problems'][number]];
  const others = partitions.problems.length - 1;
  const more = `${partition.title ?? partition.id}: ${failure.reason} (and ${others} more with a problem)`;
  const message = others > 0 ? more : failure.reason;
  return { errorCode: failure.errorCode, message, status: 'active', retryAt: earliest(partitions) };
}

function reasonOfSome(partitions: PartitionsOutcome | null | undefined): string | null {
  const first = partitions?.problems[0];
  return first ? `${first.partition.title ?? first.partition.id}: ${first.failure.reason}` : null;
}

function earliest({ problems }: PartitionsOutcome): Date {
  return new Date(Math.min(...problems.map(({ failure }) => failure.until.getTime())));
}

/** The schedule counts from the last run that looked at everything; what is due before brings the next one forward. */
async function nextSync(
  tx: Transaction,
  { settings }: RunnerOptions,
  { connection, performed }: Ending,
  end: { failures: number; failure: RunFailure | null; isCancelled: boolean; isListed: boolean; now: Date },
): Promise<Date | null> {
  const { failures, failure, now } = end;
  // What was cancelled is not begun again before its time.
  const lastSyncedAt = end.isListed || end.isCancelled ? now : connection.lastSyncedAt;
  const ids = performed?.partitions?.ids ?? null;
  const itemDueAt = end.isCancelled ? null : await nextDue(tx, connection.id, ids);
  const state = { failures, lastSyncedAt, retryAt: failure?.retryAt ?? null, itemDueAt, now };
  return nextSyncOf(connection, state, settings.standardSchedule);
}
