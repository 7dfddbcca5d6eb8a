import { lastOf } from '../base/collections.ts';
import { isZone } from './schedule-text.ts';

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
const remedy =
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
  if (!isZone(zone)) return refused(`There is no time zone named "${zone.slice(0, 40)}".`);
  const windows: Window[] = [];
  for (const part of (isZoned ? words.slice(0, -1) : words).join(' ').split(',')) {
    const window = parseWindow(part.trim().toLowerCase());
    if (typeof window === 'string') return refused(window);
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

function refused(problem: string): ParsedHours {
  return { ok: false, problem, remedy };
}
