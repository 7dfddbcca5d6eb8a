import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isAllowed, nextAllowed, parseAllowedHours, type AllowedHours } from '../../../src/schedule/schedule-text.ts';

function hours(text: string): AllowedHours {
  const parsed = parseAllowedHours(text);
  if (!parsed.ok) throw new Error(parsed.problem);
  return parsed.hours;
}

const next = (text: string, at: string) => nextAllowed(hours(text), new Date(at)).toISOString();

describe('allowed hours', () => {
  it('cover windows within a day, across midnight, and on some days', () => {
    const allowed = (text: string, at: string) => isAllowed(hours(text), new Date(at));
    expect(allowed('09:00-17:00', '2026-03-02T09:00:00Z')).toBe(true);
    expect(allowed('09:00-17:00', '2026-03-02T16:59:59.999Z')).toBe(true);
    expect(allowed('09:00-17:00', '2026-03-02T17:00:00Z')).toBe(false);
    expect(allowed('22:00-06:00', '2026-03-02T23:30:00Z')).toBe(true);
    expect(allowed('22:00-06:00', '2026-03-02T05:59:00Z')).toBe(true);
    expect(allowed('22:00-06:00', '2026-03-02T06:00:00Z')).toBe(false);
    // The window of Friday ends on Saturday morning; that of Sunday does not exist.
    expect(allowed('mon-fri 22:00-06:00', '2026-03-07T05:00:00Z')).toBe(true);
    expect(allowed('mon-fri 22:00-06:00', '2026-03-09T05:00:00Z')).toBe(false);
    expect(allowed('sat+sun 00:00-24:00, mon 00:00-01:00', '2026-03-08T12:00:00Z')).toBe(true);
    expect(allowed('fri-mon 10:00-11:00', '2026-03-08T10:30:00Z')).toBe(true);
    expect(allowed('22:00-06:00 America/New_York', '2026-03-02T03:30:00Z')).toBe(true);
    expect(allowed('22:00-06:00 America/New_York', '2026-03-02T12:00:00Z')).toBe(false);
  });

  it.each([
    ['', /not a window/],
    ['always', /not a window/],
    ['9-17', /not a window/],
    ['09:00-09:00', /no length/],
    ['09:60-10:00', /does not exist/],
    ['24:00-06:00', /does not exist/],
    ['20:00-24:01', /does not exist/],
    ['workdays 09:00-10:00', /days of the week/],
    ['mon-wed-fri 09:00-10:00', /days of the week/],
    ['09:00-10:00 Mars/Olympus', /no time zone/],
    ['09:00-10:00,', /not a window/],
    ['x'.repeat(10_000), /not a window/],
  ])('%j is refused with a reason and a remedy', (text, problem) => {
    expect(parseAllowedHours(text)).toEqual({
      ok: false,
      problem: expect.stringMatching(problem),
      remedy: expect.stringContaining('22:00-06:00'),
    });
  });

  it('begin at the next window, on the wall clock', () => {
    expect(next('22:00-06:00', '2026-03-02T10:00:30Z')).toBe('2026-03-02T22:00:00.000Z');
    expect(next('22:00-06:00', '2026-03-02T23:00:30.500Z')).toBe('2026-03-02T23:00:30.500Z');
    expect(next('sun 10:00-11:00', '2026-03-02T10:00:00Z')).toBe('2026-03-08T10:00:00.000Z');
    expect(next('sun 10:00-11:00', '2026-03-08T11:00:00Z')).toBe('2026-03-15T10:00:00.000Z');
  });

  it('begin when the clock jumps over their beginning, or not at all when it jumps over all of them', () => {
    expect(next('02:30-05:00 Europe/Berlin', '2026-03-29T00:10:00Z')).toBe('2026-03-29T01:00:00.000Z');
    expect(next('02:15-02:45 Europe/Berlin', '2026-03-29T00:10:00Z')).toBe('2026-03-30T00:15:00.000Z');
    expect(next('04:00-05:00 Europe/Berlin', '2026-03-29T00:10:00Z')).toBe('2026-03-29T02:00:00.000Z');
    // 02:30 comes twice on 25 October: at 00:30 and 01:30 UTC.
    expect(next('02:30-02:40 Europe/Berlin', '2026-10-25T00:10:00Z')).toBe('2026-10-25T00:30:00.000Z');
    expect(next('02:30-02:40 Europe/Berlin', '2026-10-25T00:40:00Z')).toBe('2026-10-25T01:30:00.000Z');
    expect(next('02:30-02:40 Europe/Berlin', '2026-10-25T01:40:00Z')).toBe('2026-10-26T01:30:00.000Z');
  });

  it('are what a walk minute by minute finds, in every zone and around every change of the clock', () => {
    const changes = ['2026-03-29T01:00:00Z', '2026-10-25T01:00:00Z', '2026-03-08T07:00:00Z', '2026-04-04T15:00:00Z'];
    const clockTime = fc.integer({ min: 0, max: 1_439 });
    fc.assert(
      fc.property(
        fc.constantFrom(...changes),
        fc.integer({ min: -2_000, max: 1_000 }),
        fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kathmandu'),
        fc.tuple(clockTime, clockTime).filter(([start, end]) => start !== end),
        (change, minutes, zone, [start, end]) => {
          const at = new Date(Date.parse(change) + minutes * 60_000);
          const window = `${clock(start)}-${clock(end)}`;
          expect(next(`${window} ${zone}`, at.toISOString())).toBe(walk(start, end, zone, at));
        },
      ),
      { numRuns: 300 },
    );
  });
});

function clock(minute: number): string {
  return `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`;
}

/** The definition, slowly: the first minute whose wall time is in the window. */
function walk(start: number, end: number, zone: string, from: Date): string {
  const format = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', timeZone: zone });
  for (let time = from.getTime(); ; time += 60_000) {
    const [hour, minute] = format.format(time).split(':').map(Number) as [number, number];
    const wall = (hour % 24) * 60 + minute;
    if (start < end ? wall >= start && wall < end : wall >= start || wall < end) return new Date(time).toISOString();
  }
}
