import { Cron } from 'croner';
import { firstOf } from '../base/collections.ts';

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
export function isZone(zone: string): boolean {
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
