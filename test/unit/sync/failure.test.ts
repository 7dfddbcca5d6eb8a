import { describe, expect, it } from 'vitest';
import { MemorydError } from '../../../src/base/errors.ts';
import { createLogger, silentLogger } from '../../../src/base/log.ts';
import {
  authExpired,
  badConfig,
  ConnectorError,
  forbidden,
  gone,
  rateLimited,
  transient,
} from '../../../src/connector/contract.ts';
import {
  brokenCircuit,
  failItem,
  judgeError,
  partitionFailure,
  wearsOut,
  createBreaker,
} from '../../../src/sync/failure.ts';

const now = new Date('2026-03-01T09:00:00Z');
const item = (attempts: number, lostWorkers = 0) => ({
  extId: 'a',
  customId: 'x:a',
  wantRev: '1',
  fingerprint: null,
  attempts,
  lostWorkers,
  documentId: null,
  ref: {},
});

describe('a failed item', () => {
  it('is tried again after 30 s, doubling to 6 h, then daily for two weeks, then only on request', () => {
    const pauses = Array.from({ length: 24 }, (_, index) => {
      const { nextTry } = failItem(item(index), transient('down'), now);
      return nextTry === null ? null : (nextTry.getTime() - now.getTime()) / 1_000;
    });
    const day = 86_400;
    expect(pauses.slice(0, 10)).toEqual([30, 60, 120, 240, 480, 960, 1_920, 3_840, 7_680, 15_360]);
    expect(pauses.slice(10)).toEqual([...Array.from({ length: 13 }, () => day), null]);
  });

  it('says what a connector wrote on purpose, and nothing that may quote content', () => {
    expect(failItem(item(0), transient('The drive is away.'), now)).toMatchObject({
      error: 'The drive is away.',
      errorClass: 'transient',
    });
    expect(failItem(item(0), new Error('secret text'), now).error).not.toContain('secret');
  });

  it('is not given to workers for ever when they die of it', () => {
    expect([0, 9, 10].map((lost) => wearsOut(item(0, lost)))).toEqual([false, false, true]);
    expect(wearsOut(item(100))).toBe(false);
  });
});

describe('errors of a connector', () => {
  const judge = (error: unknown, log = silentLogger) => judgeError(error, { provider: 'x', verb: 'list', log, now });

  it.each([
    ['its own error', gone('away'), 'gone'],
    ['its own error, wrapped', new Error('sdk', { cause: forbidden('no') }), 'forbidden'],
    ['a status', Object.assign(new Error('x'), { status: 401 }), 'auth_expired'],
    ['a nested status', { response: { status: 403 } }, 'forbidden'],
    ['404', { statusCode: 404 }, 'gone'],
    ['429', { status: 429 }, 'rate_limited'],
    ['500', { status: 500 }, 'transient'],
    ['an error', new TypeError('x is not a function'), 'transient'],
    ['a text', 'down', 'transient'],
    ['nothing', undefined, 'transient'],
    ['null', null, 'transient'],
  ])('has a meaning: %s', (_, error, kind) => {
    const judged = judge(error);
    expect(ConnectorError.is(judged) && judged.kind).toBe(kind);
  });

  it('is not quoted, neither shown nor logged', () => {
    const lines: string[] = [];
    const log = createLogger('debug', { write: (line: string) => void lines.push(line) });
    const judged = judge(new RangeError('the canary sings'), log);
    expect(judged.message).toContain('RangeError in list');
    expect(lines.join('')).toContain('RangeError');
    expect(lines.join('') + judged.message).not.toContain('canary');
  });
});

describe('a problem of a partition', () => {
  const of = (error: unknown, failures = 0) => partitionFailure(error, failures, now);

  it('parks or pauses it, and is nothing about the others', () => {
    const retryAt = new Date(now.getTime() + 90_000);
    expect(of(rateLimited('slow', retryAt))).toMatchObject({
      state: 'parked',
      problem: 'rate_limited',
      until: retryAt,
    });
    expect(of(forbidden('no'))).toMatchObject({ state: 'paused', problem: 'forbidden' });
    expect(of(gone('away'))).toMatchObject({ state: 'paused', problem: 'missing' });
    expect(of(authExpired('401'))).toMatchObject({ state: 'paused', problem: 'auth_expired' });
    expect(of(new MemorydError('connector_invalid', 'odd'))).toMatchObject({
      state: 'paused',
      problem: 'connector_fault',
    });
    expect(of(transient('x'))).toMatchObject({ state: 'parked', problem: 'unavailable' });
  });

  it('is none when the whole connection is meant', () => {
    for (const error of [badConfig('x'), new MemorydError('disk_full', 'x'), new Error('x')])
      expect(of(error)).toBeNull();
  });

  it('is looked at again later each time, and at least every six hours', () => {
    const waits = [0, 1, 2, 10, 50].map(
      (failures) => (of(transient('x'), failures)!.until.getTime() - now.getTime()) / 1_000,
    );
    expect(waits).toEqual([30, 60, 120, 21_600, 21_600]);
  });
});

describe('the circuit breaker', () => {
  const after = (outcomes: unknown[]) => {
    const breaker = createBreaker();
    for (const one of outcomes) breaker.add(one);
    return breaker.trip();
  };
  const bad = transient('down');
  const fine = undefined;
  const times = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value);

  it('trips after ten failures in a row, and not before', () => {
    expect(after([...times(91, fine), ...times(9, bad)])).toBeNull();
    expect(after([...times(50, fine), ...times(10, bad)])).toMatchObject({ outage: true });
    expect(after(times(10, forbidden('no')))).toMatchObject({ outage: true });
  });

  it('trips when more than 15 % of the last hundred failed, of at least twenty', () => {
    const mixed = (count: number, failures: number) =>
      Array.from({ length: count }, (_, index) => (index % Math.floor(count / failures) === 0 ? bad : fine)).slice(
        0,
        count,
      );
    expect(after(mixed(19, 4))).toBeNull();
    expect(after(mixed(20, 3))).toMatchObject({ outage: false, reason: expect.stringContaining('down') });
    expect(after([...times(85, fine), ...times(5, [bad, fine]).flat()])).toBeNull();
    expect(after([...times(30, [bad, fine, fine]).flat(), ...times(100, fine)])).toBeNull();
  });

  it('counts neither what is left out nor single items without access', () => {
    expect(after(times(40, [new ConnectorError('skip', 'left out'), fine]).flat())).toBeNull();
    expect(after(times(40, [forbidden('no'), fine]).flat())).toBeNull();
  });

  it('waits longer each time only while nothing goes well', () => {
    const wait = (outage: boolean) => brokenCircuit({ reason: 'x', outage }, 4, now).until.getTime() - now.getTime();
    expect([wait(true), wait(false)]).toEqual([480_000, 60_000]);
  });
});
