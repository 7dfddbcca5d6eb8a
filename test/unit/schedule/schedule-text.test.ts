import { describe, expect, it } from 'vitest';
import { requireSchedule } from '../../../src/schedule/connection-schedule.ts';
import { intervalText, nextOccurrence, parseSchedule } from '../../../src/schedule/schedule-text.ts';

describe('a schedule', () => {
  it.each([
    ['10m', { kind: 'interval', everyMs: 600_000 }],
    [' 4h ', { kind: 'interval', everyMs: 14_400_000 }],
    ['1d', { kind: 'interval', everyMs: 86_400_000 }],
    ['manual', { kind: 'manual' }],
    ['0 */4 * * *', { kind: 'cron', expression: '0 */4 * * *', zone: 'UTC' }],
    ['0  8 * * mon-fri   Europe/Berlin', { kind: 'cron', expression: '0 8 * * mon-fri', zone: 'Europe/Berlin' }],
    ['@daily Asia/Tokyo', { kind: 'cron', expression: '@daily', zone: 'Asia/Tokyo' }],
  ])('%s is read', (text, schedule) => {
    expect(parseSchedule(text)).toEqual({ ok: true, schedule });
  });

  it.each([
    ['', /neither/],
    ['soon', /neither/],
    ['10', /neither/],
    ['9s', /shorter than 10 seconds/],
    ['367d', /longer than 366 days/],
    ['99999999999d', /neither/],
    ['0 8 * *', /neither/],
    ['0 0 8 * * *', /neither/],
    ['0 8 * * * UTC later', /neither/],
    ['2026-01-01T00:00:00Z', /neither/],
    ['0 8 * * * Mars/Olympus', /no time zone named "Mars\/Olympus"/],
    ['61 8 * * *', /not valid: Invalid value for minute: 61/],
    ['0 0 30 2 *', /never comes/],
    ['? 8 * * *', /may not contain/],
    ['@fortnightly', /not valid/],
    ['1 '.repeat(5_000), /neither/],
  ])('%j is refused with a reason and a remedy', (text, problem) => {
    const parsed = parseSchedule(text);
    expect(parsed).toEqual({
      ok: false,
      problem: expect.stringMatching(problem),
      remedy: expect.stringContaining('10m'),
    });
  });

  it('runs on the wall clock of its zone, also on days of 23 and 25 hours', () => {
    const times = (expression: string, after: string, count: number) => {
      let at = new Date(after);
      return Array.from({ length: count }, () =>
        (at = nextOccurrence({ expression, zone: 'Europe/Berlin' }, at)).toISOString(),
      );
    };
    // 02:30 does not exist on 29 March 2026, and exists twice on 25 October.
    expect(times('30 2 * * *', '2026-03-28T12:00:00Z', 2)).toEqual([
      '2026-03-29T01:00:00.000Z',
      '2026-03-30T00:30:00.000Z',
    ]);
    expect(times('30 2 * * *', '2026-10-24T12:00:00Z', 2)).toEqual([
      '2026-10-25T00:30:00.000Z',
      '2026-10-26T01:30:00.000Z',
    ]);
    expect(times('0 8 * * *', '2026-10-24T12:00:00Z', 2)).toEqual([
      '2026-10-25T07:00:00.000Z',
      '2026-10-26T07:00:00.000Z',
    ]);
  });
});

it('of the configuration is refused by the name of its setting', () => {
  expect(requireSchedule('4h', 'sync.cron')).toBe('4h');
  expect(() => requireSchedule('often', 'sync.cron')).toThrow(/^sync\.cron is not a schedule\. It is neither/);
});

it('intervals are shown in their largest whole unit', () => {
  expect([300_000, 14_400_000, 86_400_000, 90_000].map(intervalText)).toEqual(['5m', '4h', '1d', '90s']);
});
