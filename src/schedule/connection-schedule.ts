import type { ConnectionRow } from '../store/connections.ts';
import { isAllowed, nextAllowed, parseAllowedHours, type AllowedHours } from './allowed-hours.ts';
import { nextSyncAt } from './next-sync.ts';
import { intervalText, manualSchedule, parseSchedule, standardSchedule, type Schedule } from './schedule-text.ts';

type ScheduleColumns = Pick<ConnectionRow, 'schedule' | 'syncEveryMs'>;

/** What a caller's schedule is stored as: null (only on request) has a word of its own, nothing is null. */
export function storedSchedule(given: string | null | undefined): string | null {
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

/** How the connection stands after a run, or after its schedule was changed. */
export interface ScheduleState {
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
