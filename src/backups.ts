import { constants } from 'node:fs';
import { cp, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Backup, Backups, BackupSchedule } from './api/services.ts';
import type { Clock } from './base/clock.ts';
import { MemorydError } from './base/errors.ts';
import type { Logger } from './base/log.ts';
import type { Database } from './store/database.ts';
import { saysDiskFull } from './store/database-errors.ts';
import { copyCluster } from './store/pglite/copy-cluster.ts';
import { nextOccurrence, parseSchedule, type Schedule } from './schedule/schedule-text.ts';

/** What a data directory holds beside the database that no source brings back. */
const otherParts = ['encryption.key', 'models'];

const unfinished = '.unfinished';

const namePattern = /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z$/;

interface BackupOptions {
  /** Embedded, with its files in `dataDir`. */
  database: Database;
  dataDir: string;
  clock: Clock;
  log: Logger;
  /** When one is made by itself, and how many then stay. */
  scheduled: { schedule: string; keep: number };
}

/**
 * Copies of the data directory of an embedded database, made while it is in use. Each is a data directory itself: a
 * daemon starts on it.
 */
export function createBackups(options: BackupOptions): Backups & { runDue(): Promise<void> } {
  const { dataDir, clock, log } = options;
  const folder = resolve(dataDir, 'backups');
  let underWay = false;

  async function list(): Promise<Backup[]> {
    return Promise.all((await names(folder)).map((name) => describe(folder, name)));
  }

  const backups = {
    list,
    async lastAt() {
      const [newest] = await names(folder);
      return newest === undefined ? null : momentOf(newest);
    },
    async make(keep: number | null) {
      if (underWay) throw new MemorydError('conflict', 'A backup is being made already.', { shouldRetry: false });
      underWay = true;
      try {
        const made = await make(options, folder);
        const older = keep === null ? [] : (await list()).slice(keep);
        for (const { path } of older) await rm(path, { recursive: true, force: true });
        return made;
      } finally {
        underWay = false;
      }
    },
  };
  const scheduled = createBackupSchedule({ backups, clock, log, ...options.scheduled });
  return {
    ...backups,
    schedule: async () => (await scheduled?.state()) ?? null,
    runDue: async () => scheduled?.runDue(),
  };
}

async function make({ database, dataDir, clock }: BackupOptions, folder: string): Promise<Backup> {
  const name = nameOf(clock.now());
  const target = join(folder, `${name}${unfinished}`);
  await removeUnfinished(folder);
  await mkdir(target, { recursive: true, mode: 0o700 });
  try {
    await copyCluster(database, join(dataDir, 'database'), join(target, 'database'));
    for (const part of otherParts) await copyIfThere(join(dataDir, part), join(target, part));
    await flushAll(await filesIn(target));
    await rename(target, join(folder, name));
  } catch (error) {
    await rm(target, { recursive: true, force: true });
    if (!saysDiskFull(error)) throw error;
    throw new MemorydError('disk_full', `The backup does not fit on the disk of ${folder}.`, { cause: error });
  }
  return describe(folder, name);
}

/** Newest first. */
async function names(folder: string): Promise<string[]> {
  const found = (await readdir(folder).catch(() => [])).filter((name) => namePattern.test(name));
  return found.toSorted().toReversed();
}

async function describe(folder: string, name: string): Promise<Backup> {
  const path = join(folder, name);
  const sizes = await Promise.all((await filesIn(path)).map(async (file) => (await stat(file)).size));
  return { name, at: momentOf(name), path, bytes: sizes.reduce((sum, size) => sum + size, 0) };
}

/** What a stop has interrupted. */
async function removeUnfinished(folder: string): Promise<void> {
  const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith(unfinished));
  for (const name of names) await rm(join(folder, name), { recursive: true, force: true });
}

async function copyIfThere(from: string, to: string): Promise<void> {
  const options = { recursive: true, preserveTimestamps: true, mode: constants.COPYFILE_FICLONE };
  await cp(from, to, options).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
}

async function filesIn(path: string): Promise<string[]> {
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

/** Node has four threads for files: one is left for others. */
const flushedAtOnce = 3;

/**
 * The engine does not do that, so a copy of it is safer against a loss of power than the original. There are a thousand
 * files, and the disk writes its journal once for all that wait together.
 */
async function flushAll(files: string[]): Promise<void> {
  const left = files.values();
  const flushing = Array.from({ length: flushedAtOnce }, async () => {
    for (const file of left) await flush(file);
  });
  await Promise.all(flushing);
}

async function flush(file: string): Promise<void> {
  const handle = await open(file, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** `2026-03-01T09-00-00-000Z`: colons are no part of names on Windows. */
function nameOf(at: Date): string {
  return at.toISOString().replaceAll(/[:.]/g, '-');
}

function momentOf(name: string): Date {
  return new Date(name.replace(/T(\d\d)-(\d\d)-(\d\d)-(\d{3})Z$/, 'T$1:$2:$3.$4Z'));
}

interface BackupScheduleOptions {
  backups: Pick<Backups, 'make' | 'lastAt'>;
  /** As `parseSchedule` reads it. */
  schedule: string;
  /** How many backups stay. */
  keep: number;
  clock: Clock;
  log: Logger;
}

interface ScheduledBackups {
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
