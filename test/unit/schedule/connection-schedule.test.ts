import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isAllowed, parseAllowedHours, parseSchedule, type Schedule } from '../../../src/schedule/schedule-text.ts';
import { nextSyncAt, type SyncTiming } from '../../../src/schedule/connection-schedule.ts';
import { sized } from '../../support/length.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

function schedule(text: string): Schedule {
  const parsed = parseSchedule(text);
  if (!parsed.ok) throw new Error(parsed.problem);
  return parsed.schedule;
}

function hours(text: string) {
  const parsed = parseAllowedHours(text);
  if (!parsed.ok) throw new Error(parsed.problem);
  return parsed.hours;
}

const now = new Date('2026-03-02T10:00:00.000Z');

function timing(fields: Partial<SyncTiming> = {}): SyncTiming {
  return {
    connectionId: 'nTPkyRFA6CAFjF1YveCHK1',
    schedule: schedule('10m'),
    isShared: false,
    hours: null,
    lastSyncedAt: now,
    failures: 0,
    retryAt: null,
    itemDueAt: null,
    now,
    ...fields,
  };
}

const later = (fields: Partial<SyncTiming>) => nextSyncAt(timing(fields))!.getTime() - now.getTime();

describe('the next sync', () => {
  it('of a manual connection never comes by itself', () => {
    expect(nextSyncAt(timing({ schedule: schedule('manual'), failures: 3, itemDueAt: now, retryAt: now }))).toBeNull();
  });

  it('comes an interval after the last complete look, with at most a tenth more', () => {
    expect(later({})).toBeGreaterThanOrEqual(10 * minuteMs);
    expect(later({})).toBeLessThan(11 * minuteMs);
    expect(later({ schedule: schedule('30d') })).toBeLessThan(30 * 24 * hourMs + 5 * minuteMs);
  });

  it('is due at once when its time passed, or nothing was ever looked at', () => {
    expect(later({ lastSyncedAt: new Date('2026-02-01T00:00:00Z') })).toBe(0);
    expect(later({ schedule: schedule('0 3 * * *'), lastSyncedAt: new Date('2026-02-01T00:00:00Z') })).toBe(0);
    expect(later({ lastSyncedAt: null })).toBe(0);
  });

  it('follows a cron expression in its zone, at most 5 minutes late', () => {
    const at = nextSyncAt(timing({ schedule: schedule('0 8 * * mon-fri Europe/Berlin') }))!;
    expect(at.getTime() - Date.parse('2026-03-03T07:00:00Z')).toSatisfy((ms: number) => ms >= 0 && ms < 5 * minuteMs);
  });

  it('is not skipped by something that looked only at a part of the source meanwhile', () => {
    const daily = { schedule: schedule('0 8 * * *') };
    const lastSyncedAt = new Date('2026-03-01T08:04:00Z');
    const planned = nextSyncAt(timing({ ...daily, lastSyncedAt, now: new Date('2026-03-01T09:00:00Z') }))!;
    const hint = new Date('2026-03-02T08:00:01Z');
    expect(nextSyncAt(timing({ ...daily, lastSyncedAt, now: hint }))).toEqual(planned > hint ? planned : hint);
  });

  it('of connections that share the standard schedule is spread over its whole period', () => {
    const offsets = Array.from({ length: 200 }, (_, index) =>
      later({ connectionId: `connection-${index}`, schedule: schedule('0 */4 * * *'), isShared: true }),
    );
    expect(Math.max(...offsets)).toBeLessThanOrEqual(4 * hourMs);
    const quarters = [0, 1, 2, 3].map((hour) => offsets.filter((ms) => Math.floor(ms / hourMs) === hour).length);
    expect(Math.min(...quarters)).toBeGreaterThan(25);
  });

  it('is put off by failures: 30 s, doubling up to the period, between 15 minutes and 6 hours', () => {
    const pauses = (text: string) =>
      [1, 2, 3, 6, 20, 1_000].map((failures) => Math.floor(later({ schedule: schedule(text), failures }) / 1_000));
    const about = (seconds: number) => expect.toSatisfy((value: number) => value >= seconds && value <= seconds * 1.1);
    expect(pauses('1m')).toEqual([30, 60, 120, 900, 900, 900].map(about));
    expect(pauses('1h')).toEqual([30, 60, 120, 960, 3_600, 3_600].map(about));
    expect(pauses('0 0 1 1 *')).toEqual([30, 60, 120, 960, 21_600, 21_600].map(about));
  });

  it('waits as long as the source says', () => {
    const retryAt = new Date(now.getTime() + hourMs);
    expect(later({ retryAt, failures: 1 })).toSatisfy((ms: number) => ms >= hourMs && ms <= hourMs + 30_000);
  });

  it('is brought forward by a failed item that is due, not put off', () => {
    expect(later({ itemDueAt: new Date(now.getTime() + minuteMs) })).toBe(minuteMs);
    expect(later({ itemDueAt: new Date(now.getTime() - minuteMs) })).toBe(0);
    expect(later({ itemDueAt: new Date(now.getTime() + hourMs) })).toBe(later({}));
  });

  it('is the same at every look', () => {
    expect(nextSyncAt(timing())).toEqual(nextSyncAt(timing()));
    expect(nextSyncAt(timing({ connectionId: 'another' }))).not.toEqual(nextSyncAt(timing()));
  });
});

describe('for any schedule, hours, connection and moment around changes of the clock', () => {
  const schedules = [
    '10s',
    '10m',
    '4h',
    '9d',
    '* * * * *',
    '*/15 * * * *',
    '30 2 * * * Europe/Berlin',
    '0 8 * * mon America/New_York',
    '0 0 29 2 *',
  ];
  const windows = [
    null,
    '22:00-06:00 Europe/Berlin',
    '02:15-02:45 Europe/Berlin',
    'mon-fri 09:00-17:00 America/New_York',
    'sun 01:00-03:00 Australia/Lord_Howe',
    '00:00-00:01, 12:00-12:01',
  ];
  const changes = ['2026-03-29T01:00:00Z', '2026-10-25T01:00:00Z', '2026-03-08T07:00:00Z', '2026-04-04T15:00:00Z'];
  const moment = fc
    .tuple(fc.constantFrom(...changes), fc.integer({ min: -30 * hourMs, max: 30 * hourMs }))
    .map(([change, ms]) => new Date(Date.parse(change) + ms));
  const anyTiming = fc
    .record({
      connectionId: fc.string({ minLength: 1, maxLength: 8 }),
      schedule: fc.constantFrom(...schedules).map(schedule),
      isShared: fc.boolean(),
      hours: fc.constantFrom(...windows).map((text) => (text === null ? null : hours(text))),
      failures: fc.constantFrom(0, 0, 1, 4, 50),
      last: moment,
      ranForMs: fc.integer({ min: 0, max: 50 * hourMs }),
      itemDueMs: fc.option(fc.integer({ min: -hourMs, max: 10 * hourMs })),
    })
    .map(({ last, ranForMs, itemDueMs, ...rest }): SyncTiming => {
      const at = new Date(last.getTime() + ranForMs);
      const itemDueAt = itemDueMs === null ? null : new Date(at.getTime() + itemDueMs);
      return { ...rest, lastSyncedAt: last, now: at, retryAt: null, itemDueAt };
    });

  it('it is never in the past and always in the allowed hours', () => {
    fc.assert(
      fc.property(anyTiming, (one) => {
        const at = nextSyncAt(one)!;
        expect(at.getTime()).toBeGreaterThanOrEqual(one.now.getTime());
        if (one.hours) expect(isAllowed(one.hours, at)).toBe(true);
      }),
      { numRuns: sized(100, 250) },
    );
  });

  it('a later last look never makes it earlier, and neither does a later moment', () => {
    fc.assert(
      fc.property(anyTiming, fc.integer({ min: 0, max: 20 * hourMs }), (one, ms) => {
        const plus = (date: Date) => new Date(date.getTime() + ms);
        const at = nextSyncAt(one)!.getTime();
        expect(nextSyncAt({ ...one, now: plus(one.now) })!.getTime()).toBeGreaterThanOrEqual(at);
        const lastSyncedAt = plus(one.lastSyncedAt!);
        const moved = { ...one, lastSyncedAt, now: lastSyncedAt > one.now ? lastSyncedAt : one.now };
        expect(nextSyncAt(moved)!.getTime()).toBeGreaterThanOrEqual(at);
      }),
      { numRuns: sized(100, 250) },
    );
  });

  it('without failures, hours and due items it comes within one period and its spread of the last look', () => {
    fc.assert(
      fc.property(anyTiming, (one) => {
        const plain = { ...one, hours: null, failures: 0, itemDueAt: null, now: one.lastSyncedAt! };
        const waitMs = nextSyncAt(plain)!.getTime() - plain.now.getTime();
        expect(waitMs).toBeGreaterThan(0);
        if (one.schedule.kind !== 'interval') return;
        const { everyMs } = one.schedule;
        expect(waitMs).toBeLessThanOrEqual(everyMs + Math.min(everyMs / 10, 5 * minuteMs));
      }),
      { numRuns: sized(100, 250) },
    );
  });
});
