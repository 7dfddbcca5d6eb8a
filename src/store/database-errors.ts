import { MemorydError } from '../base/errors.ts';

/** PostgreSQL's error codes that callers act on (appendix A of its manual). */
const sqlStates = {
  uniqueViolation: '23505',
  serializationFailure: '40001',
  deadlock: '40P01',
  diskFull: '53100',
  outOfMemory: '53200',
} as const;

/** A failed statement's error on both engines; fields are set where the server stated them. */
export interface StatementError extends Error {
  /** SQLSTATE, five characters. */
  code: string;
  /** `ERROR`, or `FATAL` and `PANIC` when the session ended with it. */
  severity: string;
  constraint?: string;
  table?: string;
  /** May hold values of the row: not for logs. */
  detail?: string;
}

/** True for errors the database itself answered, on either engine. */
export function isStatementError(error: unknown): error is StatementError {
  return error instanceof Error && 'severity' in error && /^[0-9A-Z]{5}$/.test(codeOf(error) ?? '');
}

export const isUniqueViolation = (error: unknown, constraint?: string) =>
  hasState(error, sqlStates.uniqueViolation, constraint);

/** The transaction lost against another one; the same work may succeed when it is done again. */
export const isTransactionConflict = (error: unknown) =>
  hasState(error, sqlStates.serializationFailure) || hasState(error, sqlStates.deadlock);

export const isDiskFull = (error: unknown) => MemorydError.is(error) && error.code === 'disk_full';

export const isOutOfMemory = (error: unknown) => hasState(error, sqlStates.outOfMemory);

/** The connection broke, the server restarts, or the embedded engine stopped; later statements may succeed. */
export const isUnreachable = (error: unknown) => MemorydError.is(error) && error.code === 'database_unreachable';

/**
 * Makes a failure of the machine under the database a `MemorydError` (`disk_full`,
 * `database_unreachable`); errors of statements stay as the database gave them.
 */
export function translateError(error: unknown): unknown {
  if (MemorydError.is(error)) return error;
  if (saysDiskFull(error)) {
    return new MemorydError('disk_full', 'The database cannot write: no space is left on its disk.', { cause: error });
  }
  if (saysUnreachable(error)) {
    return new MemorydError('database_unreachable', `The connection to the database is lost (${reasonOf(error)}).`, {
      cause: error,
    });
  }
  return error;
}

/** True when no further statement can run in the session that gave this error. */
export function endsSession(error: unknown): boolean {
  if (isStatementError(error) && (error.severity === 'FATAL' || error.severity === 'PANIC')) return true;
  return saysUnreachable(error);
}

function hasState(error: unknown, state: string, constraint?: string): boolean {
  if (!isStatementError(error) || error.code !== state) return false;
  return constraint === undefined || error.constraint === constraint;
}

function codeOf(error: unknown): string | undefined {
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : undefined;
}

export function saysDiskFull(error: unknown): boolean {
  const code = codeOf(error);
  if (code === sqlStates.diskFull || code === 'ENOSPC' || code === 'EDQUOT') return true;
  return error instanceof Error && /no space left on device|disk quota exceeded/i.test(error.message);
}

const networkCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOENT',
]);
/** Class 08 is "connection exception"; 57P01 to 57P05 are shutdown, crash, start-up and idle time-outs. */
const connectionStates = /^(08[0-9A-Z]{3}|57P0[1-5]|53300)$/;
const connectionMessages =
  /^(Connection terminated|timeout expired|timeout exceeded when trying to connect|Client has encountered a connection error)/;

function saysUnreachable(error: unknown): boolean {
  const code = codeOf(error);
  if (code !== undefined && (networkCodes.has(code) || connectionStates.test(code))) return true;
  return error instanceof Error && connectionMessages.test(error.message);
}

function reasonOf(error: unknown): string {
  return codeOf(error) ?? (error instanceof Error ? error.message : String(error));
}
