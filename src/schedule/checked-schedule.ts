import { MemorydError } from '../base/errors.ts';
import { parseAllowedHours } from './allowed-hours.ts';
import { storedSchedule } from './connection-schedule.ts';
import { parseSchedule } from './schedule-text.ts';

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
