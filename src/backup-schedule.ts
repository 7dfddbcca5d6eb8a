import type { BackupSchedule, Backups } from './api/services.ts';
import type { Clock } from './base/clock.ts';
import { MemorydError } from './base/errors.ts';
import type { Logger } from './base/log.ts';
import { nextOccurrence, parseSchedule, type Schedule } from './schedule/schedule-text.ts';

export interface BackupScheduleOptions {
  backups: Pick<Backups, 'make' | 'lastAt'>;
  /** As `parseSchedule` reads it. */
  schedule: string;
  /** How many backups stay. */
  keep: number;
  clock: Clock;
  log: Logger;
}

export interface ScheduledBackups {
  state(): Promise<BackupSchedule>;
  /** Makes the backup that is due, if one is. Does not throw when it fails. */
  runDue(): Promise<void>;
}

/** A failed one is tried again after this time: a full disk is seldom empty a minute later. */
const retryMs = 60 * 60_000;
/** How late one may be before somebody is told. */
const graceMs = 60 * 60_000;

/**
 * Backups that the daemon makes by itself; null without a schedule. The backups that are there say when the last was
 * made, so nothing is missed by a daemon that was off at the time. Where there is none, one is due at once.
 */
export function createBackupSchedule(options: BackupScheduleOptions): ScheduledBackups | null {
  const { backups, keep, clock, log } = options;
  const parsed = parseSchedule(options.schedule);
  if (!parsed.ok || parsed.schedule.kind === 'manual') return null;
  const { schedule } = parsed;
  const startedAt = clock.now();
  let failure: BackupSchedule['failure'] = null;

  async function state(): Promise<BackupSchedule> {
    const lastAt = await backups.lastAt();
    const dueAt = lastAt === null ? startedAt : following(schedule, lastAt);
    const current = failure && (lastAt === null || failure.at > lastAt) ? failure : null;
    const retryAt = current === null ? dueAt : new Date(current.at.getTime() + retryMs);
    return {
      ...{ schedule: options.schedule, keep, lastAt },
      nextAt: retryAt > dueAt ? retryAt : dueAt,
      failure: current,
      isOverdue: clock.now().getTime() > dueAt.getTime() + graceMs,
    };
  }

  return {
    state,
    async runDue() {
      const { nextAt } = await state();
      if (clock.now() < nextAt) return;
      try {
        const { name } = await backups.make(keep);
        log.info({ backup: name }, 'scheduled backup made');
      } catch (error) {
        // Somebody makes one at this moment.
        if (MemorydError.is(error) && error.code === 'conflict') return;
        failure = { at: clock.now(), reason: MemorydError.is(error) ? error.message : 'See the log of the daemon.' };
        log.error({ err: error }, 'scheduled backup failed, it is tried again in an hour');
      }
    },
  };
}

function following(schedule: Exclude<Schedule, { kind: 'manual' }>, after: Date): Date {
  if (schedule.kind === 'cron') return nextOccurrence(schedule, after);
  return new Date(after.getTime() + schedule.everyMs);
}
