import { texts } from './texts.ts';

/** Leaves a source the schedule of its connector or of the daemon. */
export const standard = 'standard';

/** What can be chosen, as the API takes it, with the words for it. */
export function presetsFor(zone: string): Readonly<Record<string, string>> {
  const { presets } = texts.schedule;
  return {
    [standard]: presets.standard,
    '15m': presets.quarter,
    '1h': presets.hour,
    '4h': presets.hours,
    [`0 6 * * * ${zone}`]: presets.daily,
    [`0 6 * * mon-fri ${zone}`]: presets.weekdays,
    manual: presets.manual,
  };
}

/** Whether a schedule is in somebody's own words. */
export function isOwnSchedule(value: string, presets: Readonly<Record<string, string>>): boolean {
  return !Object.hasOwn(presets, value);
}

/** A schedule in words. */
export function scheduleWords(schedule: string | null, zone: string): string {
  const presets = presetsFor(zone);
  const value = schedule ?? 'manual';
  if (Object.hasOwn(presets, value)) return presets[value]!;
  const interval = /^(\d+)([smhd])$/.exec(value);
  if (interval) return texts.schedule.every(Number(interval[1]), interval[2] as 's' | 'm' | 'h' | 'd');
  const hours = /^0 \*\/(\d+) \* \* \*$/.exec(value);
  return hours ? texts.schedule.every(Number(hours[1]), 'h') : value;
}

/** An interval as the API takes it, of whole minutes where it has them; undefined where there is none. */
export function intervalOf(everyMs: number | undefined): string | undefined {
  if (everyMs === undefined) return undefined;
  const units = [
    ['h', 3_600_000],
    ['m', 60_000],
    ['s', 1_000],
  ] as const;
  const [unit, ms] = units.find(([, each]) => everyMs % each === 0) ?? units[2];
  return `${Math.round(everyMs / ms)}${unit}`;
}

/** What is sent: null is only on request, and what is left to the source is not sent. */
export function sentSchedule(value: string): { schedule?: string | null } {
  if (value === standard) return {};
  return { schedule: value.trim() === 'manual' ? null : value.trim() };
}
