import { MemorydError } from '../base/errors.ts';
import type { ClaimedItem, FinishedItem } from '../store/sync-items.ts';
import { ConnectorError } from './contract.ts';

const minutes = 60_000;
const firstPauseMs = 30_000;
const longestPauseMs = 6 * 60 * minutes;
const dailyMs = 24 * 60 * minutes;
/** Attempts with doubling pauses, then daily ones for two weeks, then only on request. */
const doublingAttempts = 10;
const lastAttempt = doublingAttempts + 14;

/** Errors that are about the whole source, not about one item: the run ends and nothing is held against the item. */
export function stopsRun(error: unknown): boolean {
  if (MemorydError.is(error)) return true;
  return (
    ConnectorError.is(error) &&
    ['auth_expired', 'rate_limited', 'bad_config', 'source_missing', 'cursor_expired'].includes(error.kind)
  );
}

/** A failed item with the time of its next attempt: 30 s, doubling to 6 h, then daily for two weeks. */
export function failItem(item: ClaimedItem, error: unknown, now: Date): FinishedItem {
  if (ConnectorError.is(error) && error.kind === 'skip') {
    return {
      ext_id: item.ext_id,
      state: 'skipped',
      rev: item.want_rev,
      document_id: item.document_id,
      next_try: null,
      error_class: 'skipped',
      error: error.message,
    };
  }
  return {
    ext_id: item.ext_id,
    state: 'failed',
    rev: null,
    document_id: item.document_id,
    next_try: nextTry(item.attempts, now),
    error_class: ConnectorError.is(error) ? error.kind : 'transient',
    error: shownError(error),
  };
}

function nextTry(attempts: number, now: Date): Date | null {
  if (attempts >= lastAttempt) return null;
  const pauseMs = attempts > doublingAttempts ? dailyMs : Math.min(firstPauseMs * 2 ** (attempts - 1), longestPauseMs);
  return new Date(now.getTime() + pauseMs);
}

/** Only messages that a connector wrote on purpose are shown; others may quote content. */
function shownError(error: unknown): string {
  return ConnectorError.is(error) ? error.message : 'The item could not be fetched; it is tried again.';
}

export interface RunFailure {
  errorCode: 'auth_expired' | 'rate_limited' | 'provider_unavailable' | 'internal';
  message: string;
  /** The connection's state from now on. */
  status: 'active' | 'needs_reauth' | 'needs_configuration';
  retryAt: Date | null;
}

/** What the end of a run means for its connection. */
export function runFailure(error: unknown): RunFailure {
  const active = { status: 'active', retryAt: null } as const;
  if (!ConnectorError.is(error)) {
    const message = MemorydError.is(error) ? `${error.message} ${error.remedy}` : 'Unexpected failure; see the log.';
    return { ...active, errorCode: 'internal', message };
  }
  const message = error.remedy ? `${error.message} ${error.remedy}` : error.message;
  switch (error.kind) {
    case 'auth_expired':
      return { errorCode: 'auth_expired', message, status: 'needs_reauth', retryAt: null };
    case 'bad_config':
      return { errorCode: 'internal', message, status: 'needs_configuration', retryAt: null };
    case 'rate_limited':
      return { ...active, errorCode: 'rate_limited', message, retryAt: error.retryAt ?? null };
    default:
      return { ...active, errorCode: 'provider_unavailable', message };
  }
}
