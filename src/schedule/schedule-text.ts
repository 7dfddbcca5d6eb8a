import { Cron } from 'croner';
import { firstOf, lastOf } from '../base/collections.ts';

/** When a connection is synced by itself. */
export type Schedule =
  | { kind: 'manual' }
  | { kind: 'interval'; everyMs: number }
  /** Five fields, read in an IANA time zone. */
  | { kind: 'cron'; expression: string; zone: string };

export type ParsedSchedule = { ok: true; schedule: Schedule } | { ok: false; problem: string; remedy: string };

/** The schedule of a connection without one of its own, unless the configuration names another. */
export const standardSchedule = '0 */4 * * *';

/** Stored and accepted in place of null: nothing runs by itself. */
export const manualSchedule = 'manual';

const unitsMs: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const shortestMs = 10_000;
const longestMs = 366 * 86_400_000;
const remedy =
  'Write an interval such as 10m, 4h or 1d, or a cron expression of five fields with an optional time zone, such as "0 8 * * mon-fri Europe/Berlin".';

/**
 * Reads a schedule: an interval (`30s`, `10m`, `4h`, `1d`; 10 seconds to 366 days), a cron expression
 * of five fields that may be followed by a time zone (default UTC), one of `@hourly`, `@daily`,
 * `@weekly`, `@monthly`, or `manual`. Never throws.
 */
export function parseSchedule(text: string): ParsedSchedule {
  const words = text.trim().split(/\s+/);
  if (words.length === 1 && words[0] === manualSchedule) return { ok: true, schedule: { kind: 'manual' } };
  const interval = /^(\d{1,9})([smhd])$/.exec(words.length === 1 ? firstOf(words) : '');
  if (interval) return parseInterval(Number(interval[1]) * unitsMs[interval[2]!]!);
  return parseCron(words);
}

/** The text of an interval in its largest whole unit: 600,000 is `10m`. */
export function intervalText(everyMs: number): string {
  const [unit, ms] = Object.entries(unitsMs).findLast(([, ms]) => everyMs % ms === 0) ?? ['s', 1_000];
  return `${Math.max(1, Math.round(everyMs / ms))}${unit}`;
}

function parseInterval(everyMs: number): ParsedSchedule {
  if (everyMs < shortestMs) return refused('The interval is shorter than 10 seconds.');
  if (everyMs > longestMs) return refused('The interval is longer than 366 days.');
  return { ok: true, schedule: { kind: 'interval', everyMs } };
}

function parseCron(words: readonly string[]): ParsedSchedule {
  const fieldCount = words[0]?.startsWith('@') ? 1 : 5;
  const isZoned = /^[A-Za-z]/.test(words[fieldCount] ?? '');
  if (words[0] === '' || words.length !== fieldCount + Number(isZoned)) {
    return refused('It is neither an interval nor a cron expression of five fields.');
  }
  const expression = words.slice(0, fieldCount).join(' ');
  const zone = words[fieldCount] ?? 'UTC';
  if (!isZone(zone)) return refused(`There is no time zone named "${zone.slice(0, 40)}".`);
  // croner reads `?` as the time at which the expression is parsed, which changes with every start.
  if (expression.includes('?')) return refused('A cron expression may not contain "?".');
  try {
    const next = cronOf({ expression, zone }).nextRun(new Date(0));
    if (!next) return refused('The cron expression names a time that never comes.');
  } catch (error) {
    return refused(`The cron expression is not valid: ${reasonOf(error)}`);
  }
  return { ok: true, schedule: { kind: 'cron', expression, zone } };
}

/** The first time of a cron schedule after `after`. Throws when there is none, which `parseSchedule` refuses. */
export function nextOccurrence(schedule: { expression: string; zone: string }, after: Date): Date {
  const next = cronOf(schedule).nextRun(after);
  if (!next) throw new RangeError(`${schedule.expression} has no next time.`);
  return next;
}

function cronOf({ expression, zone }: { expression: string; zone: string }): Cron {
  return new Cron(expression, { mode: '5-part', timezone: zone, paused: true });
}

/** Whether the runtime knows an IANA time zone of this name. */
function isZone(zone: string): boolean {
  if (!/^[A-Za-z][A-Za-z0-9_+/-]*$/.test(zone)) return false;
  try {
    return Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

function reasonOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replace(/^Cron\w+: /, '');
}

function refused(problem: string): ParsedSchedule {
  return { ok: false, problem, remedy };
}

/** The hours in which a connection may sync by itself, on the wall clock of a time zone. */
export interface AllowedHours {
  zone: string;
  windows: readonly Window[];
}

interface Window {
  /** Weekdays on which it begins, 0 is Sunday. */
  days: ReadonlySet<number>;
  /** Minutes after midnight. */
  start: number;
  /** At most a day; it may end after midnight. */
  minutes: number;
}

export type ParsedHours = { ok: true; hours: AllowedHours } | { ok: false; problem: string; remedy: string };

const minuteMs = 60_000;
const dayMinutes = 1_440;
const weekdays = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const hoursRemedy =
  'Write windows such as "22:00-06:00" or "mon-fri 19:00-07:00, sat-sun 00:00-24:00 Europe/Berlin"; a window may end after midnight.';

/**
 * Reads allowed hours: windows `[days] HH:MM-HH:MM`, separated by commas, and at the end a time zone
 * (default UTC). Days are `mon`, `mon-fri` or `sat+sun` and mean the day on which a window begins.
 * Never throws.
 */
export function parseAllowedHours(text: string): ParsedHours {
  const words = text.trim().split(/\s+/);
  const last = lastOf(words);
  const isZoned = words.length > 1 && !last.includes(':');
  const zone = isZoned ? last : 'UTC';
  if (!isZone(zone)) return refusedHours(`There is no time zone named "${zone.slice(0, 40)}".`);
  const windows: Window[] = [];
  for (const part of (isZoned ? words.slice(0, -1) : words).join(' ').split(',')) {
    const window = parseWindow(part.trim().toLowerCase());
    if (typeof window === 'string') return refusedHours(window);
    windows.push(window);
  }
  return { ok: true, hours: { zone, windows } };
}

function parseWindow(text: string): Window | string {
  const match = /^(?:([a-z+-]+) )?(\d{1,2}):(\d{2})-(\d{1,2}):(\d{2})$/.exec(text);
  if (!match) return `"${text.slice(0, 40)}" is not a window of time.`;
  const [, named, fromHour, fromMinute, toHour, toMinute] = match;
  const days = parseDays(named);
  if (!days) return `"${named?.slice(0, 40)}" does not name days of the week.`;
  const start = minuteOf(Number(fromHour), Number(fromMinute));
  const end = minuteOf(Number(toHour), Number(toMinute));
  if (start === null || start === dayMinutes || end === null) return `"${text}" names a time that does not exist.`;
  if (start === end) return `"${text}" has no length.`;
  return { days, start, minutes: end > start ? end - start : end + dayMinutes - start };
}

function minuteOf(hours: number, minutes: number): number | null {
  const minute = hours * 60 + minutes;
  return Number(minutes) < 60 && minute <= dayMinutes ? minute : null;
}

function parseDays(text: string | undefined): Set<number> | null {
  if (text === undefined) return new Set(weekdays.keys());
  const days = new Set<number>();
  for (const part of text.split('+')) {
    const [from, to = from, ...rest] = part.split('-').map((name) => weekdays.indexOf(name));
    if (from === undefined || to === undefined || from < 0 || to < 0 || rest.length > 0) return null;
    for (let day = from; ; day = (day + 1) % 7) {
      days.add(day);
      if (day === to) break;
    }
  }
  return days;
}

/** Minutes of the shortest window. */
export function shortestWindow({ windows }: AllowedHours): number {
  return Math.min(...windows.map((window) => window.minutes));
}

export function isAllowed({ zone, windows }: AllowedHours, at: Date): boolean {
  const { weekday, minute } = wallTime(at, zone);
  return windows.some(({ days, start, minutes }) => {
    const today = days.has(weekday) && minute >= start && minute < start + minutes;
    return today || (days.has((weekday + 6) % 7) && minute + dayMinutes < start + minutes);
  });
}

/** `at`, when it is allowed, else the first allowed moment after it. */
export function nextAllowed(hours: AllowedHours, at: Date): Date {
  let time = at.getTime();
  // Between two changes of the offset, wall time and time run alike.
  while (!isAllowed(hours, new Date(time))) {
    const start = nextStart(hours, time);
    const change = offsetChange(hours.zone, time, start);
    if (change === null || start < change) return new Date(start);
    time = change;
  }
  return new Date(time);
}

/** When the next window begins if the offset of the zone stays as it is. */
function nextStart({ zone, windows }: AllowedHours, time: number): number {
  const { weekday, minute } = wallTime(new Date(time), zone);
  let wait = Infinity;
  for (const { days, start } of windows) {
    for (let later = 0; later <= 7; later++) {
      const minutes = later * dayMinutes + start - minute;
      if (minutes > 0 && days.has((weekday + later) % 7)) wait = Math.min(wait, minutes);
    }
  }
  return time - (time % minuteMs) + wait * minuteMs;
}

/** The minute at which the offset of the zone changes between two times; null when it is the same at both. */
function offsetChange(zone: string, from: number, to: number): number | null {
  const before = offsetMs(zone, from);
  if (before === offsetMs(zone, to)) return null;
  let low = Math.floor(from / minuteMs);
  let high = Math.ceil(to / minuteMs);
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetMs(zone, middle * minuteMs) === before) low = middle;
    else high = middle;
  }
  return high * minuteMs;
}

function wallTime(at: Date, zone: string): { weekday: number; minute: number } {
  const wall = new Date(at.getTime() + offsetMs(zone, at.getTime()));
  return { weekday: wall.getUTCDay(), minute: wall.getUTCHours() * 60 + wall.getUTCMinutes() };
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** How far the wall clock of a zone is ahead of UTC. */
function offsetMs(zone: string, time: number): number {
  let format = formats.get(zone);
  if (!format) {
    const fields = { year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric' } as const;
    format = new Intl.DateTimeFormat('en-US', { ...fields, timeZone: zone, hourCycle: 'h23', calendar: 'iso8601' });
    formats.set(zone, format);
  }
  const parts = Object.fromEntries(format.formatToParts(time).map(({ type, value }) => [type, Number(value)]));
  const wall = Date.UTC(parts['year']!, parts['month']! - 1, parts['day'], parts['hour'], parts['minute']);
  return wall - (time - (((time % minuteMs) + minuteMs) % minuteMs));
}

function refusedHours(problem: string): ParsedHours {
  return { ok: false, problem, remedy: hoursRemedy };
}
