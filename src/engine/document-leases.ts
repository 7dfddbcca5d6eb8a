import type { Clock } from '../base/clock.ts';
import { whileRenewing } from '../base/concurrency.ts';
import { MemorydError, type ErrorCode } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { Database } from '../store/database.ts';
import { failDocuments, type ClaimedDocument, renewLeases } from '../store/processing.ts';
import { pausesMsOf, standardRedrives } from '../base/redrive-pauses.ts';

/** A document that took this many workers with it, most of them alone, is not given to another one. */
const mostLostWorkers = 10;

export interface Failure {
  document: Pick<ClaimedDocument, 'id' | 'type' | 'attempts' | 'redrives'>;
  error: unknown;
}

interface Failing {
  database: Database;
  clock: Clock;
  log: Logger;
  redrivesMs?: number[] | undefined;
}

/** Throws when too many workers were lost with a document. */
export function requireHarmless({ lostWorkers }: Pick<ClaimedDocument, 'lostWorkers'>): void {
  if (lostWorkers >= mostLostWorkers)
    throw new MemorydError('lost_worker', 'Workers keep dying while they process this.');
}

/** Whether one text of several may be to blame, so that each has to be tried on its own. */
export function mayBePoisoned(error: unknown): boolean {
  return !(MemorydError.is(error) && error.retryAfterMs !== undefined);
}

/** Gives failed documents another time, or ends them with a reason. */
export async function fail(
  options: Failing,
  batch: { leaseToken: string; stages: Map<string, string> },
  failures: readonly Failure[],
): Promise<void> {
  if (failures.length === 0) return;
  for (const { document } of failures) batch.stages.delete(document.id);
  const now = options.clock.now();
  const rows = failures.map(({ document, error }) => {
    const row = { id: document.id, type: document.type, ...nextAttempt(error, document, now, options.redrivesMs) };
    const unexpected = !MemorydError.is(error);
    options.log[unexpected ? 'error' : 'debug'](
      { documentId: row.id, code: row.errorCode, status: row.status, ...(unexpected ? { err: error } : {}) },
      'document not processed',
    );
    return row;
  });
  await failDocuments(options.database, rows, { leaseToken: batch.leaseToken, now });
}

/** Attempts inside one drive, with the pauses between them (api-contract of processing, 7.3). */
const attemptPausesMs = [5_000, 30_000];

/** When failed documents are driven again, and then no more. */
const standardRedrivesMs = pausesMsOf(standardRedrives);

const retryableCodes: ReadonlySet<ErrorCode> = new Set([
  'fetch_failed',
  'ocr_failed',
  'embed_failed',
  'index_failed',
  'memory_failed',
  'lost_worker',
  'internal',
  'unavailable',
  'disk_full',
  'database_unreachable',
]);

interface NextAttempt {
  status: 'queued' | 'failed';
  nextAttemptAt: Date | null;
  errorCode: string;
  errorMessage: string;
}

/**
 * The next state of a document whose processing failed. Retryable: again after 5 s and 30 s, then
 * `failed` and driven again after each of `redrivesMs`. Permanent: `failed` until its content changes.
 */
export function nextAttempt(
  error: unknown,
  document: { attempts: number; redrives: number },
  now: Date,
  redrivesMs = standardRedrivesMs,
): NextAttempt {
  const known = MemorydError.is(error) ? error : undefined;
  const code: ErrorCode = known?.code ?? 'internal';
  const shown = {
    errorCode: code === 'unavailable' || code === 'disk_full' || code === 'database_unreachable' ? 'internal' : code,
    errorMessage: known?.message ?? 'Unexpected failure while processing; see the log.',
  };
  if (!retryableCodes.has(code) || known?.shouldRetry === false)
    return { status: 'failed', nextAttemptAt: null, ...shown };
  // Whoever it ended was one of many already.
  const pauseMs = code === 'lost_worker' ? undefined : attemptPausesMs[document.attempts];
  if (pauseMs !== undefined) {
    return { status: 'queued', nextAttemptAt: later(now, Math.max(pauseMs, known?.retryAfterMs ?? 0)), ...shown };
  }
  const redriveMs = redrivesMs[document.redrives];
  return { status: 'failed', nextAttemptAt: redriveMs === undefined ? null : later(now, redriveMs), ...shown };
}

function later(now: Date, ms: number): Date {
  return new Date(now.getTime() + ms);
}

/** The renewal also says how far the documents are. */
const mostRenewalMs = 5_000;

export interface Renewing {
  database: Database;
  clock: Clock;
  log: Logger;
  leaseMs: number;
}

interface Held {
  leaseToken: string;
  /** How far each document is. */
  stages: ReadonlyMap<string, string>;
}

/** Renews a lease while its documents are worked on; the renewal also publishes how far each is. */
export async function withRenewal(
  { database, clock, log, leaseMs }: Renewing,
  { leaseToken, stages }: Held,
  run: () => Promise<void>,
): Promise<void> {
  const renew = () => {
    const rows = [...stages].map(([id, status]) => ({ id, status }));
    const leaseUntil = new Date(clock.now().getTime() + leaseMs);
    return renewLeases(database, rows, { leaseToken, leaseUntil }).catch((error: unknown) =>
      log.warn({ err: error }, 'lease renewal failed'),
    );
  };
  await whileRenewing({ clock, everyMs: Math.min(leaseMs / 3, mostRenewalMs), renew }, run);
}
