import { describe, expect, test } from 'vitest';
import { MemorydError } from '../../../src/base/errors.ts';
import {
  endsSession,
  isDiskFull,
  isStatementError,
  isTransactionConflict,
  isUnreachable,
  isUniqueViolation,
  translateError,
} from '../../../src/store/database-errors.ts';

const serverError = (code: string, message = 'it failed', severity = 'ERROR') =>
  Object.assign(new Error(message), { code, severity });
const systemError = (code: string) => Object.assign(new Error(`connect ${code}`), { code, syscall: 'connect' });

describe('translated into an error of the machine', () => {
  test.each([
    ['disk full by its code', serverError('53100', 'could not extend file')],
    ['disk full by its words', serverError('58030', 'could not write block 7: No space left on device')],
    ['disk full from the system', systemError('ENOSPC')],
    ['a quota', systemError('EDQUOT')],
  ])('%s', (_name, error) => {
    const translated = translateError(error);
    expect(isDiskFull(translated)).toBe(true);
    expect(translated).toMatchObject({ code: 'disk_full', cause: error });
  });

  test.each([
    ['nobody listens', systemError('ECONNREFUSED')],
    ['a reset connection', systemError('ECONNRESET')],
    ['the server shuts down', serverError('57P01', 'terminating connection', 'FATAL')],
    ['the server starts', serverError('57P03', 'the database system is starting up', 'FATAL')],
    ['no connection left', serverError('53300', 'sorry, too many clients already', 'FATAL')],
    ['a protocol failure', serverError('08P01')],
    ['node-postgres lost it', new Error('Connection terminated unexpectedly')],
    ['node-postgres waited in vain', new Error('timeout exceeded when trying to connect')],
  ])('unreachable: %s', (_name, error) => {
    const translated = translateError(error);
    expect(isUnreachable(translated)).toBe(true);
    expect(translated).toMatchObject({ code: 'database_unreachable', cause: error });
    expect(endsSession(error)).toBe(true);
  });
});

test.each([
  ['a violated constraint', serverError('23505')],
  ['a wrong statement', serverError('42601')],
  ['an error of our own', new MemorydError('not_found', 'no')],
  ['a mistake in the code', new TypeError('x is undefined')],
])('%s stays what it is', (_name, error) => {
  expect(translateError(error)).toBe(error);
  expect(endsSession(error)).toBe(false);
});

test('an error that ends the server’s process ends the session too', () => {
  expect(endsSession(serverError('53100', 'could not write to log file', 'PANIC'))).toBe(true);
  expect(endsSession(serverError('53100', 'could not extend file'))).toBe(false);
});

test('codes of Node are not taken for those of the server', () => {
  expect(isStatementError(systemError('EPIPE'))).toBe(false);
  expect(isUniqueViolation(Object.assign(new Error('x'), { code: '23505' }))).toBe(false);
  expect(isStatementError(serverError('23505'))).toBe(true);
  expect(isTransactionConflict(serverError('40P01'))).toBe(true);
  expect(isTransactionConflict(serverError('23505'))).toBe(false);
});
