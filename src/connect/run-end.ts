import type { ConnectionRow, RequestedSync } from '../store/connections.ts';
import { releaseConnection, setConnectionStatus } from '../store/connections.ts';
import { nextDue } from '../store/sync-claims.ts';
import { finishRun } from '../store/sync-runs.ts';
import { nextSyncOf } from './connection-schedule.ts';
import type { RunFailure } from './failure.ts';
import type { RunReport } from './run-report.ts';
import type { EndReason, Performed, RunnerOptions } from './runner.ts';
import type { PartitionsOutcome } from './sync-partitions.ts';

export interface Ending {
  connection: ConnectionRow;
  request: RequestedSync;
  token: string;
  /** Null when it ended before there was a run. */
  runId: string | null;
  report: RunReport | null;
  performed: Performed | null;
  /** Why the run was ended before its time; null when it was not. */
  letGo: EndReason | null;
}

/** Writes how a run ended, and gives the connection back with the time of its next one. */
export async function endRun(options: RunnerOptions, ending: Ending): Promise<void> {
  const { database, clock, log } = options;
  const { connection, performed } = ending;
  // Another worker has the connection and the run now.
  if (ending.letGo === 'taken') return;
  const now = clock.now();
  const failure = ending.letGo
    ? interrupted(ending.letGo)
    : (performed?.failure ?? failureOfAll(performed?.partitions));
  const isCancelled = !(await finish(options, ending, failure, now));
  if (failure && failure.status !== 'active') {
    await setConnectionStatus(database, connection.id, { status: failure.status, reason: failure.message, now });
  }
  const wasStopped = !isCancelled && (ending.letGo === 'stopped' || ending.letGo === 'paused');
  const isListed = failure === null && !ending.request.hints && !ending.request.dryRun && !isCancelled;
  const isOwnFault = failure !== null && ending.letGo === null && !isCancelled && !performed?.partitions;
  const isWell = failure === null && !ending.request.dryRun;
  const failures = isOwnFault ? connection.failures + 1 : isWell ? 0 : connection.failures;
  await releaseConnection(database, connection.id, {
    token: ending.token,
    failures,
    reason: ending.letGo ? connection.statusReason : (failure?.message ?? reasonOfSome(performed?.partitions)),
    syncedAt: isListed ? now : null,
    unfinished: wasStopped,
    nextSyncAt: wasStopped ? now : await nextSync(options, ending, { failures, failure, isCancelled, isListed }),
    now,
  });
  const { errorCode = null } = failure ?? {};
  const details = { connectionId: connection.id, provider: connection.provider, runId: ending.runId, errorCode };
  log.info({ ...details, letGo: ending.letGo, partitions: performed?.partitions?.ids.length }, 'sync run ended');
}

/** False when the run was cancelled, which says all that is to be said. */
async function finish(
  { database }: RunnerOptions,
  { runId, performed, letGo }: Ending,
  failure: RunFailure | null,
  now: Date,
): Promise<boolean> {
  if (runId === null || letGo === 'cancelled') return false;
  const { message = null, errorCode = null } = failure ?? {};
  return finishRun(database, runId, { error: message, errorCode, report: performed?.dryRun ?? null, now });
}

function interrupted(why: EndReason): RunFailure {
  const messages = {
    cancelled: 'cancelled',
    paused: 'The connection was paused; the next run goes on from here.',
    stopped: 'The run was stopped; the next one goes on from its last checkpoint.',
    taken: 'Another worker went on with the run.',
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
  options: RunnerOptions,
  ending: Ending,
  end: { failures: number; failure: RunFailure | null; isCancelled: boolean; isListed: boolean },
): Promise<Date | null> {
  const { connection, performed } = ending;
  const now = options.clock.now();
  const { failures, failure } = end;
  // What was cancelled is not begun again before its time.
  const lastSyncedAt = end.isListed || end.isCancelled ? now : connection.lastSyncedAt;
  const ids = performed?.partitions?.ids ?? null;
  const itemDueAt = end.isCancelled ? null : await nextDue(options.database, connection.id, ids);
  const state = { failures, lastSyncedAt, retryAt: failure?.retryAt ?? null, itemDueAt, now };
  return nextSyncOf(connection, state, options.settings.standardSchedule);
}
