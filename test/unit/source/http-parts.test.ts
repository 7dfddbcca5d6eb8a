import { describe, expect, it } from 'vitest';
import { describeTarget, pathPattern } from '../../../src/source/http/transport.ts';
import { readHttpDate, readRetryAfter } from '../../../src/base/retry-after.ts';
import { readReset } from '../../../src/source/rate-limit/limited-answers.ts';
import { createSourceClock } from '../../../src/source/http/exchange.ts';
import { createTestClock } from '../../support/clock.ts';

const now = Date.parse('2026-03-01T09:00:00Z');

describe('Retry-After', () => {
  const read = (retryAfter: string | null, date?: string, serverNow: number | null = now) =>
    readRetryAfter({ retryAfter, date }, serverNow);

  it.each([
    ['0', 0],
    ['120', 120_000],
    [' 1.5 ', 1_500],
    ['99999999999', 86_400_000],
    ['-1', null],
    ['', null],
    ['1e3', null],
    ['soon', null],
    ['Sun, 01 Mar 2026 09:01:00 GMT', 60_000],
    ['Sunday, 01-Mar-26 09:01:00 GMT', 60_000],
    ['Sun Mar  1 09:01:00 2026 GMT', 60_000],
    ['Sun, 01 Mar 2026 08:00:00 GMT', 0],
    ['Sun, 01 Mar 2026 08:59:00 GMT', 0],
    ['2026', 2_026_000],
  ])('%j is %j ms', (value, expected) => {
    expect(read(value)).toBe(expected);
  });

  it('counts a date from the date of the answer, else from what is known of the server’s clock', () => {
    const value = 'Sun, 01 Mar 2026 09:01:00 GMT';
    expect(read(value, 'Sun, 01 Mar 2026 09:00:50 GMT', 0)).toBe(10_000);
    expect(read(value, 'nonsense', now + 55_000)).toBe(5_000);
  });

  it('is missing', () => {
    expect(read(null)).toBeNull();
    expect(read('Sun, 01 Mar 2026 09:01:00 GMT', undefined, null)).toBeNull();
    expect(readHttpDate('2026-03-01')).toBeNull();
  });
});

describe('reset headers', () => {
  const heard = { headers: { date: new Date(now - 3_600_000).toUTCString() }, now, sourceNow: now };
  const read = (...[text, unit]: [string | undefined, Parameters<typeof readReset>[1]]) => {
    const time = readReset(text, unit, heard);
    return time === null ? null : time - now;
  };
  it('are seconds from now, or since 1970 by the clock of the source', () => {
    const unix = String((now - 3_600_000 + 30_000) / 1_000);
    expect(read(unix, 'unix-seconds')).toBe(30_000);
    expect(read(unix, 'either')).toBe(30_000);
    expect(read('30', 'delta-seconds')).toBe(30_000);
    expect(read('30', 'either')).toBe(30_000);
    expect(read('30', 'unix-seconds')).toBe(0);
  });
  it.each([undefined, '', 'soon', '-1', '2026-03-01'])('that are %j say nothing', (text) => {
    expect(read(text, 'either')).toBeNull();
  });
});

describe('a path in messages', () => {
  it.each([
    ['/v1/pages/0f1e2d3c-aaaa-bbbb-cccc-0123456789ab/markdown', '/v1/pages/*/markdown'],
    ['/drive/v3/files/1A2b3C/export', '/drive/v3/files/*/export'],
    ['/drive/v3/changes/startPageToken', '/drive/v3/changes/startPageToken'],
    ['/gmail/v1/users/a@example.com/history', '/gmail/v1/users/*/history'],
    ['/hooks/T0/B0/Xabc123', '/hooks/*/*/*'],
    ['/a/b/c/d/e/f/g/h', '/a/b/c/d/e/f/…'],
    ['/bot123:AAEhBOweik/getMe', '/*/getMe'],
    ['/%66oo/', '/*/'],
    ['/', '/'],
  ])('%s is shown as %s', (path, shown) => {
    expect(pathPattern(path)).toBe(shown);
  });
  it('has no query', () => {
    const url = new URL('https://user:pw@api.example.com/v1/notes?token=secret#x');
    expect(describeTarget('GET', url)).toBe('GET api.example.com/v1/notes');
  });
});

describe('the clock of a source', () => {
  it('is ours until the source tells', () => {
    const clock = createTestClock();
    const source = createSourceClock(clock);
    source.heard(undefined, now, now);
    source.heard('soon', now, now);
    expect(source.now()).toEqual(clock.now());
  });

  it('is the median of what its answers say', () => {
    const clock = createTestClock();
    const source = createSourceClock(clock);
    const hear = (offsetMs: number) => {
      clock.advance(1_000);
      const time = clock.now().getTime();
      source.heard(new Date(time + offsetMs).toUTCString(), time, time + 1_000);
    };
    for (const offset of [7_200_000, 7_200_000, -5_000, 7_200_000, 99_000_000]) hear(offset);
    expect(source.now().getTime() - clock.now().getTime()).toBe(7_200_000);
    // The clock of the source was set right.
    for (let count = 0; count < 15; count++) hear(0);
    expect(source.now()).toEqual(clock.now());
  });
});
