import { MemorydError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { storableText } from '../base/storable.ts';
import type { ClaimedItem, FinishedItem } from '../store/leases.ts';
import type { PartitionProblem } from '../store/partitions.ts';
import { authExpired, ConnectorError, forbidden, gone, rateLimited, transient } from '../connector/contract.ts';

const minutes = 60_000;
const firstPauseMs = 30_000;
const longestPauseMs = 6 * 60 * minutes;
const dailyMs = 24 * 60 * minutes;

/** Attempts with doubling pauses, then daily ones for two weeks, then only on request. */
const doublingAttempts = 10;
const lastAttempt = doublingAttempts + 14;

/** When a source that limits requests does not say for how long. */
const defaultRetryMs = minutes;

type RunErrorCode = 'auth_expired' | 'rate_limited' | 'provider_unavailable' | 'internal';

/** A connector that does not keep to the contract. The message says what it did, and how to mend it. */
export function connectorFault(what: string, remedy = 'This is to be mended in the connector.'): MemorydError {
  return new MemorydError('connector_invalid', `${what} ${remedy}`, { shouldRetry: false });
}

/**
 * Whatever a connector threw, as an error with a known meaning: its own errors as they are, also when
 * a library wrapped them, others by their HTTP status, and the rest as transient. Only the name and
 * the place of unknown errors are logged, because their messages may quote content.
 */
export function judgeError(
  error: unknown,
  call: { provider: string; verb: string; log: Logger; now: Date },
): ConnectorError | MemorydError {
  const known = ConnectorError.is(error) ? error : ConnectorError.find(error);
  if (known) return known;
  if (MemorydError.is(error)) return error;
  const { provider, verb, log, now } = call;
  const name = nameOf(error);
  log.warn({ provider, verb, error: name, at: placeOf(error) }, 'a connector failed unexpectedly');
  const message = `The connector failed unexpectedly (${name} in ${verb}).`;
  switch (statusOf(error)) {
    case 401:
      return authExpired('The source no longer accepts the authorization.', error);
    case 403:
      return forbidden('The source does not allow access.', error);
    case 404:
    case 410:
      return gone('The source reports that it does not exist.');
    case 429:
      return rateLimited('The source allows no more requests for now.', new Date(now.getTime() + defaultRetryMs));
    default:
      return transient(message, error);
  }
}

function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return `a thrown ${error === null ? 'null' : typeof error}`;
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,40}$/.test(code) ? code : error.constructor.name;
}

function placeOf(error: unknown): string[] {
  if (!(error instanceof Error) || typeof error.stack !== 'string') return [];
  return error.stack
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .slice(0, 4)
    .map((line) => line.trim());
}

function statusOf(error: unknown): number | undefined {
  const { status, statusCode, response } = (error ?? {}) as Record<string, unknown>;
  const nested = (response ?? {}) as Record<string, unknown>;
  return [status, statusCode, nested['status'], nested['statusCode']].find((one) => typeof one === 'number');
}

/** Errors of one fetch that are about more than its item: nothing is held against the item. */
export function stopsFetching(error: unknown): boolean {
  if (MemorydError.is(error)) return error.code !== 'connector_invalid' && error.code !== 'ocr_failed';
  return (
    ConnectorError.is(error) && ['auth_expired', 'rate_limited', 'bad_config', 'source_missing'].includes(error.kind)
  );
}

/** A failed item with the time of its next attempt: 30 s, doubling to 6 h, then daily for two weeks. */
export function failItem(item: ClaimedItem, error: unknown, now: Date): FinishedItem {
  return {
    extId: item.extId,
    state: 'failed',
    rev: null,
    documentId: item.documentId,
    nextTry: nextTry(item.attempts + 1, now),
    errorClass: ConnectorError.is(error) ? error.kind : MemorydError.is(error) ? error.code : 'transient',
    error: shownError(error),
  };
}

/** After so many workers, of which all but the first few had nothing else in hand. */
const mostLostWorkers = 10;

/** An item that ends workers is not given to another one for ever. */
export function wearsOut(item: ClaimedItem): boolean {
  return item.lostWorkers >= mostLostWorkers;
}

function nextTry(attempts: number, now: Date): Date | null {
  if (attempts >= lastAttempt) return null;
  const pauseMs = attempts > doublingAttempts ? dailyMs : Math.min(firstPauseMs * 2 ** (attempts - 1), longestPauseMs);
  return new Date(now.getTime() + pauseMs);
}

const mostWords = 2_000;

/** Only messages that were written on purpose are shown; others may quote content. */
function shownError(error: unknown): string {
  const isKnown = ConnectorError.is(error) || MemorydError.is(error);
  return isKnown ? storableText(error.message, mostWords) : 'The item could not be fetched; it is tried again.';
}

export interface RunFailure {
  errorCode: RunErrorCode | null;
  message: string;
  /** The connection's state from now on. */
  status: 'active' | 'needs_reauth' | 'needs_configuration';
  retryAt: Date | null;
}

/** The consequence for a connection of an error that concerns all of it. */
export function runFailure(error: unknown): RunFailure {
  const active = { status: 'active', retryAt: null } as const;
  if (!ConnectorError.is(error)) {
    if (!MemorydError.is(error))
      return { ...active, errorCode: 'internal', message: 'Unexpected failure; see the log.' };
    // What is wrong with a connector is said in the message or the details, and how to mend it as well.
    const more = error.code === 'connector_invalid' ? (error.details ?? '') : error.remedy;
    return { ...active, errorCode: 'internal', message: storableText(`${error.message} ${more}`.trim(), mostWords) };
  }
  const message = shownMessage(error);
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

function shownMessage(error: ConnectorError): string {
  return storableText(error.remedy ? `${error.message} ${error.remedy}` : error.message, mostWords);
}

/** Why a partition is left alone for a while, and what that means for a run that has no other. */
export interface PartitionFailure extends PartitionProblem {
  problem: 'rate_limited' | 'auth_expired' | 'forbidden' | 'missing' | 'breaker' | 'connector_fault' | 'unavailable';
  errorCode: RunErrorCode;
}

/**
 * The consequence of an error for the partition in which it occurred; null when it concerns the whole
 * connection. `failures` are the runs in a row that had a problem here before this one.
 */
export function partitionFailure(error: unknown, failures: number, now: Date): PartitionFailure | null {
  const backoff = new Date(now.getTime() + backoffMs(failures));
  if (MemorydError.is(error)) {
    if (error.code !== 'connector_invalid') return null;
    const fault = { problem: 'connector_fault', errorCode: 'internal' } as const;
    return { ...fault, state: 'paused', reason: storableText(error.message, mostWords), until: backoff };
  }
  if (!ConnectorError.is(error)) return null;
  const reason = shownMessage(error);
  switch (error.kind) {
    case 'bad_config':
      return null;
    case 'rate_limited': {
      const until = error.retryAt ?? new Date(now.getTime() + defaultRetryMs);
      return { state: 'parked', problem: 'rate_limited', errorCode: 'rate_limited', reason, until };
    }
    case 'auth_expired':
      return { state: 'paused', problem: 'auth_expired', errorCode: 'auth_expired', reason, until: backoff };
    case 'forbidden':
      return { state: 'paused', problem: 'forbidden', errorCode: 'provider_unavailable', reason, until: backoff };
    case 'gone':
    case 'source_missing':
      return { state: 'paused', problem: 'missing', errorCode: 'provider_unavailable', reason, until: backoff };
    default:
      return { state: 'parked', problem: 'unavailable', errorCode: 'provider_unavailable', reason, until: backoff };
  }
}

/** A partition in which too much fails waits, so that a source in trouble is not hammered. */
export function brokenCircuit(
  trip: { reason: string; outage: boolean },
  failures: number,
  now: Date,
): PartitionFailure {
  const pauseMs = trip.outage ? backoffMs(failures) : minutes;
  return {
    state: 'parked',
    problem: 'breaker',
    errorCode: 'provider_unavailable',
    reason: trip.reason,
    until: new Date(now.getTime() + pauseMs),
  };
}

function backoffMs(failures: number): number {
  return Math.min(firstPauseMs * 2 ** Math.min(failures, 20), longestPauseMs);
}

/** Watches how fetching goes in a partition. */
export interface Breaker {
  /** One item; `error` is undefined when it went well. */
  add(error: unknown): void;
  /** Why fetching had better stop for a while; null when it need not. */
  trip(): BreakerTrip | null;
}

export interface BreakerTrip {
  reason: string;
  /** Nothing at all went well lately. */
  outage: boolean;
}

const failuresInARow = 10;
const windowSize = 100;
const leastSamples = 20;
const worstShare = 0.15;

/**
 * Trips when ten items in a row failed, or more than 15 % of the last hundred (of at least twenty).
 * Items that the account may not read say nothing about the source as a whole unless all are such.
 */
export function createBreaker(): Breaker {
  const recent: boolean[] = [];
  let inARow = 0;
  let last = '';

  return {
    add(error) {
      if (ConnectorError.is(error) && error.kind === 'skip') return;
      const failed = error !== undefined;
      inARow = failed ? inARow + 1 : 0;
      if (failed && ConnectorError.is(error)) last = ` The last error: ${storableText(error.message, mostWords)}`;
      recent.push(failed && !(ConnectorError.is(error) && error.kind === 'forbidden'));
      if (recent.length > windowSize) recent.shift();
    },
    trip() {
      if (inARow >= failuresInARow) {
        return { reason: `${inARow} items in a row could not be fetched.${last}`, outage: true };
      }
      const failed = recent.filter(Boolean).length;
      if (recent.length < leastSamples || failed <= recent.length * worstShare) return null;
      return { reason: `${failed} of the last ${recent.length} items could not be fetched.${last}`, outage: false };
    },
  };
}
