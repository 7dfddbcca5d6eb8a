import { pausesMsOf, standardRedrives } from '../base/redrive-pauses.ts';
import { MemorydError, type ErrorCode } from '../base/errors.ts';

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

export interface NextAttempt {
  status: 'queued' | 'failed';
  next_attempt_at: Date | null;
  error_code: string;
  error_message: string;
}

/**
 * What becomes of a document whose processing failed. Retryable: again after 5 s and 30 s, then
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
    error_code: code === 'unavailable' || code === 'disk_full' || code === 'database_unreachable' ? 'internal' : code,
    error_message: known?.message ?? 'Unexpected failure while processing; see the log.',
  };
  if (!retryableCodes.has(code) || known?.shouldRetry === false)
    return { status: 'failed', next_attempt_at: null, ...shown };
  // Whoever it ended was one of many already.
  const pauseMs = code === 'lost_worker' ? undefined : attemptPausesMs[document.attempts];
  if (pauseMs !== undefined) {
    return { status: 'queued', next_attempt_at: later(now, Math.max(pauseMs, known?.retryAfterMs ?? 0)), ...shown };
  }
  const redriveMs = redrivesMs[document.redrives];
  return { status: 'failed', next_attempt_at: redriveMs === undefined ? null : later(now, redriveMs), ...shown };
}

function later(now: Date, ms: number): Date {
  return new Date(now.getTime() + ms);
}
