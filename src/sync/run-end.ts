import type { ConnectionRow, RequestedSync } from '../store/connections.ts';
import { releaseConnection, setConnectionStatus } from '../store/connections.ts';
import type { Transaction } from '../store/database.ts';
import { nextDue } from '../store/sync-claims.ts';
import { finishRun } from '../store/sync-runs.ts';
import { nextSyncOf } from '../schedule/connection-schedule.ts';
import type { RunFailure } from './failure.ts';
import type { RunHold } from './run-hold.ts';
import type { EndReason, Performed, RunnerOptions } from './runner.ts';
import type { PartitionsOutcome } from './sync-partitions.ts';

export interface Ending {
  connection: ConnectionRow;
  request: RequestedSync;
  hold: RunHold;
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
export async function endRun(options: RunnerOptions, ending: Ending): Promise<void> {
  const { connection, performed, letGo, runId } = ending;
  const failure = letGo ? interrupted(letGo) : (performed?.failure ?? failureOfAll(performed?.partitions));
  if (letGo !== 'superseded') await ending.hold.writeAlone((tx) => writeEnd(tx, options, ending, failure));
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
    token: ending.hold.lease.token,
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
