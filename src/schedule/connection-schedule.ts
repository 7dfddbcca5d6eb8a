import { hash } from 'node:crypto';
import { lastOf } from '../base/collections.ts';
import type { ConnectionRow } from '../store/connections.ts';
import {
  isAllowed,
  nextAllowed,
  parseAllowedHours,
  type AllowedHours,
  shortestWindow,
  intervalText,
  manualSchedule,
  parseSchedule,
  standardSchedule,
  type Schedule,
  nextOccurrence,
} from './schedule-text.ts';
import { MemorydError } from '../base/errors.ts';

type ScheduleColumns = Pick<ConnectionRow, 'schedule' | 'syncEveryMs'>;

/** The stored form of a caller's schedule: null (only on request) has a word of its own, nothing is null. */
function storedSchedule(given: string | null | undefined): string | null {
  return given === null ? manualSchedule : (given ?? null);
}

/** The schedule that a connection follows, as callers see it; null: only on request. */
export function shownSchedule({ schedule, syncEveryMs }: ScheduleColumns, standard = standardSchedule): string | null {
  if (schedule === manualSchedule) return null;
  return schedule ?? (syncEveryMs === null ? standard : intervalText(syncEveryMs));
}

/** Its own schedule, else its connector's, else the one that all others share. */
function scheduleOf(row: ScheduleColumns, standard: string): { schedule: Schedule; isShared: boolean } {
  if (row.schedule === null && row.syncEveryMs !== null) {
    return { schedule: { kind: 'interval', everyMs: row.syncEveryMs }, isShared: false };
  }
  const parsed = parseSchedule(row.schedule ?? standard);
  // Texts are checked before they are stored; one of another version must not stop the sync.
  if (!parsed.ok) return { schedule: { kind: 'interval', everyMs: 4 * 60 * 60_000 }, isShared: false };
  return { schedule: parsed.schedule, isShared: row.schedule === null };
}

function hoursOf({ allowedHours }: Pick<ConnectionRow, 'allowedHours'>): AllowedHours | null {
  if (allowedHours === null) return null;
  const parsed = parseAllowedHours(allowedHours);
  return parsed.ok ? parsed.hours : null;
}

/** When connections with this schedule sync, some times from now on; they are spread a little around these. */
export function upcomingOf(
  { schedule: given, allowedHours }: Pick<ConnectionRow, 'schedule' | 'allowedHours'>,
  now: Date,
  count: number,
  standard = standardSchedule,
): Date[] {
  const { schedule } = scheduleOf({ schedule: given, syncEveryMs: null }, standard);
  const hours = hoursOf({ allowedHours });
  const times: Date[] = [];
  if (schedule.kind === 'manual') return times;
  for (let last = now; times.length < count; last = lastOf(times)) {
    const next =
      schedule.kind === 'interval' ? new Date(last.getTime() + schedule.everyMs) : nextOccurrence(schedule, last);
    times.push(hours ? nextAllowed(hours, next) : next);
  }
  return times;
}

/** How the connection stands after a run, or after its schedule was changed. */
interface ScheduleState {
  /** Default: those of the row. */
  failures?: number;
  lastSyncedAt?: Date | null;
  retryAt?: Date | null;
  itemDueAt: Date | null;
  now: Date;
}

/** When a connection syncs next by itself; see `nextSyncAt`. */
export function nextSyncOf(row: ConnectionRow, state: ScheduleState, standard = standardSchedule): Date | null {
  return nextSyncAt({
    connectionId: row.id,
    ...scheduleOf(row, standard),
    hours: hoursOf(row),
    lastSyncedAt: state.lastSyncedAt === undefined ? row.lastSyncedAt : state.lastSyncedAt,
    failures: state.failures ?? row.failures,
    retryAt: state.retryAt ?? null,
    itemDueAt: state.itemDueAt,
    now: state.now,
  });
}

/** Until when a connection has to wait that may not sync now; null when it may. What somebody asks for never waits. */
export function quietUntil(row: Pick<ConnectionRow, 'allowedHours' | 'requestedSync'>, now: Date): Date | null {
  const hours = hoursOf(row);
  if (!hours || row.requestedSync?.trigger === 'manual' || isAllowed(hours, now)) return null;
  return nextAllowed(hours, now);
}

/** The input to the time of a connection's next sync. */
export interface SyncTiming {
  connectionId: string;
  schedule: Schedule;
  /** True for the schedule that all connections without one share: they are spread over its whole period. */
  isShared: boolean;
  /** Null: at any time. */
  hours: AllowedHours | null;
  /** When a run last looked at everything; null before the first one. */
  lastSyncedAt: Date | null;
  /** Failed runs in a row. */
  failures: number;
  /** When the source allows requests again. */
  retryAt: Date | null;
  /** When the first failed item is due again. */
  itemDueAt: Date | null;
  now: Date;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const firstPauseMs = 30_000;

/** Connections with equal schedules are spread over a tenth of the period, and at most over this. */
const longestSpreadMs = 5 * minuteMs;
const longestSharedSpreadMs = 6 * hourMs;

/**
 * When a connection syncs next by itself: its schedule, brought forward by items that are due, put
 * off by failures (30 s, doubling up to its period, at least 15 minutes and at most 6 hours), always
 * within the allowed hours and never before `now`. Null when it syncs only on request.
 */
export function nextSyncAt(timing: SyncTiming): Date | null {
  const { schedule, hours, now } = timing;
  if (schedule.kind === 'manual') return null;
  const at = new Date(Math.max(wantedAt(timing, schedule).getTime(), now.getTime()));
  return hours ? spreadIntoHours(hours, at, fractionOf(timing.connectionId)) : at;
}

type RunningSchedule = Exclude<Schedule, { kind: 'manual' }>;

function wantedAt(timing: SyncTiming, schedule: RunningSchedule): Date {
  const { now, failures, retryAt, itemDueAt, lastSyncedAt } = timing;
  const fraction = fractionOf(timing.connectionId);
  if (retryAt) return new Date(retryAt.getTime() + fraction * firstPauseMs);
  if (failures > 0) return new Date(now.getTime() + pauseMs(failures, periodMs(schedule, now)) * (1 + fraction / 10));
  const scheduled = lastSyncedAt ? scheduledAfter(lastSyncedAt, timing, schedule) : now;
  return itemDueAt && itemDueAt < scheduled ? itemDueAt : scheduled;
}

/** The first time after `last` in the timetable of this connection. */
function scheduledAfter(last: Date, timing: SyncTiming, schedule: RunningSchedule): Date {
  const fraction = fractionOf(timing.connectionId);
  if (schedule.kind === 'interval') {
    const spread = Math.min(schedule.everyMs / 10, longestSpreadMs);
    return new Date(last.getTime() + schedule.everyMs + fraction * spread);
  }
  const share = timing.isShared ? 1 : 0.1;
  const longest = timing.isShared ? longestSharedSpreadMs : longestSpreadMs;
  // A time of the schedule whose spread time is still to come may lie before `last`.
  let time = nextOccurrence(schedule, new Date(last.getTime() - longest));
  for (;;) {
    const following = nextOccurrence(schedule, time);
    const spread = Math.min((following.getTime() - time.getTime()) * share, longest);
    const at = new Date(time.getTime() + Math.floor(fraction * spread));
    if (at > last) return at;
    time = following;
  }
}

/** Connections that wait for the same window do not all begin at once. */
function spreadIntoHours(hours: AllowedHours, at: Date, fraction: number): Date {
  const spreadMs = Math.floor(fraction * Math.min((shortestWindow(hours) * minuteMs) / 10, 2 * longestSpreadMs));
  const start = nextAllowed(hours, new Date(at.getTime() - spreadMs));
  const spread = new Date(start.getTime() + spreadMs);
  return isAllowed(hours, spread) ? spread : nextAllowed(hours, spread);
}

function periodMs(schedule: RunningSchedule, now: Date): number {
  if (schedule.kind === 'interval') return schedule.everyMs;
  const next = nextOccurrence(schedule, now);
  return nextOccurrence(schedule, next).getTime() - next.getTime();
}

function pauseMs(failures: number, period: number): number {
  const longest = Math.min(Math.max(period, 15 * minuteMs), 6 * hourMs);
  return Math.min(firstPauseMs * 2 ** Math.min(failures - 1, 20), longest);
}

/** A number from 0 to 1 that belongs to the connection, so that its times are the same at every look. */
function fractionOf(connectionId: string): number {
  return parseInt(hash('sha256', connectionId, 'hex').slice(0, 8), 16) / 2 ** 32;
}

/** A caller's schedule as it is stored. Throws `validation_failed` for one that cannot be read. */
export function checkedSchedule(given: string | null | undefined): string | null {
  if (typeof given !== 'string') return storedSchedule(given);
  const parsed = parseSchedule(given);
  if (!parsed.ok) throw invalid('schedule', parsed);
  return given.trim();
}

/** The same for the hours in which a connection may sync. */
export function checkedHours(given: string | null | undefined): string | null {
  if (typeof given !== 'string') return null;
  const parsed = parseAllowedHours(given);
  if (!parsed.ok) throw invalid('allowedHours', parsed);
  return given.trim();
}

/** A schedule of the configuration. Throws `config_invalid` for one that cannot be read. */
export function requireSchedule(text: string, setting: string): string {
  const parsed = parseSchedule(text);
  if (parsed.ok) return text;
  throw new MemorydError('config_invalid', `${setting} is not a schedule. ${parsed.problem} ${parsed.remedy}`);
}

function invalid(field: string, { problem, remedy }: { problem: string; remedy: string }): MemorydError {
  const issues = [{ message: `${problem} ${remedy}`, path: [field] }];
  return new MemorydError('validation_failed', problem, { issues });
}
