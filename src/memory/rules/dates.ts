// English alone: the other languages are 230 more files to read at each start.
import { casual as parser, type ParsedResult } from 'chrono-node/en';

/** A date that a text names, as the days that it covers. */
export interface FoundDate {
  /** The words that name it. */
  words: string;
  index: number;
  /** `2026-03-04`, or `2026-03` for a month, `2026` for a year. */
  iso: string;
  /** How it is written behind its words: a week is named by its Monday. */
  plain: string;
  /** The first moment after it (UTC). */
  end: Date;
  /** It only has a meaning on the day on which it is said. */
  relative: boolean;
}

/** The meaning of a weekday without `last` or `next`: the coming one, the past one, or nothing certain. */
export type Direction = 'ahead' | 'past' | null;

const cue =
  /\b(?:\d{4}-\d{2}-\d{2}|jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t|tember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?|\w{2,6}days?|today|tonight|tomorrow|yesterday|ago|last|next|this|coming|in (?:a|an|\d|one|two|three|four|five|six|seven|eight|nine|ten)|\d{1,2}[/.]\d{1,2}[/.]\d{2,4})\b/i;
const duration = /^(?:for|within|about|over|around)\b/i;
const weekday = /\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b/i;

/** The dates in a sentence, resolved against the moment at which it was said (UTC). English. */
export function findDates(text: string, said: Date, direction: Direction = null): FoundDate[] {
  if (text.length > 1000 || !cue.test(text)) return [];
  return parser
    .parse(text, { instant: said, timezone: 0 }, { forwardDate: direction === 'ahead' })
    .flatMap((found) => dateOf(found, text, said, direction) ?? []);
}

const putOff =
  /\b(?:mov|reschedul|postpon|push|extend)(?:e|ed|ing)?\b.*?\b(?:to|until|till|by) (?:the |next |this |coming )?(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:january|february|march|april|may|june|july|august|september|october|november|december)\b|tomorrow|\d)/i;

/** `moved to Friday` names a day to come, `moved to Lisbon in May` does not. */
export function isPutOff(text: string): boolean {
  return putOff.test(text.slice(0, 1000));
}

const months = 'janfebmaraprmayjunjulaugsepoctnovdec';
const dayLine =
  /^(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day,? )?(?:(?<iso>\d{4}-\d{2}-\d{2})|(?<day>\d{1,2})(?:st|nd|rd|th)?(?: of)? (?<month>[a-z]{3})[a-z]{0,6}\.?,? (?<year>\d{4})|(?<month2>[a-z]{3})[a-z]{0,6}\.? (?<day2>\d{1,2})(?:st|nd|rd|th)?,? (?<year2>\d{4}))(?:,? (?:at )?\d{1,2}:\d{2}(?::\d{2})?(?: ?[ap]\.?m\.?)?)?$/i;

/** The day that a short line names, and nothing else: `1:56 pm on 8 May, 2023`. */
export function dayNamedBy(line: string): Date | null {
  const bare = line.slice(0, 80).replace(/^\d{1,2}:\d{2}(?: ?[ap]\.?m\.?)?,? (?:on )?/i, '');
  const found = dayLine.exec(bare)?.groups;
  if (!found) return null;
  const [year, month, day] = found['iso']
    ? (found['iso'].split('-').map(Number) as [number, number, number])
    : [
        Number(found['year'] ?? found['year2']),
        monthCalled((found['month'] ?? found['month2'])!),
        Number(found['day'] ?? found['day2']),
      ];
  return dayOf(year, month, day);
}

/** `May` → 5; no whole number when there is none. */
function monthCalled(letters: string): number {
  return months.indexOf(letters.toLowerCase()) / 3 + 1;
}

/** Null when the calendar has no such day. */
function dayOf(year: number, month: number, day: number): Date | null {
  const found = utc({ year, month, day });
  return found.getUTCMonth() === month - 1 && found.getUTCDate() === day ? found : null;
}

function dateOf(found: ParsedResult, text: string, said: Date, direction: Direction): FoundDate | null {
  const words = found.text.replace(/^(?:on|in|at) /i, '').replace(/(?<![,.])[,.]+$/, '');
  const index = found.index + found.text.indexOf(words);
  const lower = words.toLowerCase();
  if (/\b(?:every|each)(?: other| second| single)? $/i.test(text.slice(Math.max(0, index - 16), index))) return null;
  if (
    /^(?:may|march|mar|sat|sun|mon|dec|jan)$/.test(words) ||
    !cue.test(words) ||
    duration.test(lower) ||
    touchesWord(text, index, words)
  )
    return null;
  const unit = /\b(?:last|this|next|past|coming) (week(?:end)?|month|year)\b/.exec(lower)?.[1];
  const way = /\bsince $/i.test(text.slice(Math.max(0, index - 6), index)) ? 'past' : direction;
  const made = unit === undefined ? plainDate(found, lower, said, way) : period(lower, unit, said);
  return made && { words, index, ...made };
}

type Made = Pick<FoundDate, 'iso' | 'plain' | 'end' | 'relative'>;

function plainDate(found: ParsedResult, lower: string, said: Date, direction: Direction): Made | null {
  const { start } = found;
  const relative = !/\d{4}|\d[/.]\d/.test(lower) || /\bago\b/.test(lower);
  if (weekday.test(lower) && !start.isCertain('day')) return weekdayDate(found, lower, said, direction);
  if (isUncertain(found, said, direction)) return null;
  const parts = partsOf(found);
  if (start.isCertain('day')) return covering(parts, 'day', relative);
  if (start.isCertain('month')) return covering(parts, 'month', relative);
  if (start.isCertain('year')) return covering(partsOf(found), 'year', relative);
  return /\b(?:morning|afternoon|evening|tonight|today)\b/.test(lower) ? covering(partsOf(found), 'day', true) : null;
}

/** `on Friday` of what was done is the one before, of what is planned the one after; else it is not known. */
function weekdayDate(found: ParsedResult, lower: string, said: Date, direction: Direction): Made | null {
  const way = /\b(?:last|past)\b/.test(lower) ? 'past' : /\b(?:next|this|coming)\b/.test(lower) ? 'ahead' : direction;
  if (way === null) return null;
  const named = found.start.get('weekday')!;
  const ahead = (named - said.getUTCDay() + 7) % 7;
  const step = way === 'past' ? ahead - 7 : ahead === 0 ? 7 : ahead;
  const day = new Date(Date.UTC(said.getUTCFullYear(), said.getUTCMonth(), said.getUTCDate() + step));
  return covering({ year: day.getUTCFullYear(), month: day.getUTCMonth() + 1, day: day.getUTCDate() }, 'day', true);
}

/** Weeks begin on Monday, weekends on Saturday. */
function period(lower: string, unit: string, said: Date): Made {
  const step = /\b(?:last|past)\b/.test(lower) ? -1 : /\b(?:next|coming)\b/.test(lower) ? 1 : 0;
  const [year, month, day] = [said.getUTCFullYear(), said.getUTCMonth() + 1, said.getUTCDate()];
  if (unit === 'year') return covering({ year: year + step, month: 1, day: 1 }, 'year', true);
  if (unit === 'month') return covering({ year, month: month + step, day: 1 }, 'month', true);
  const monday = day - ((said.getUTCDay() + 6) % 7) + 7 * step;
  const isWeekend = unit === 'weekend';
  const first = utc({ year, month, day: monday + (isWeekend ? 5 : 0) });
  const iso = first.toISOString().slice(0, 10);
  const end = new Date(first.getTime() + (isWeekend ? 2 : 7) * 86_400_000);
  return { iso, plain: isWeekend ? iso : `week of ${iso}`, end, relative: true };
}

interface Day {
  year: number;
  month: number;
  day: number;
}
type Precision = 'day' | 'month' | 'year';

function covering({ year, month, day }: Day, precision: Precision, relative: boolean): Made {
  const from = utc({ year, month: precision === 'year' ? 1 : month, day: precision === 'day' ? day : 1 });
  const next = {
    year: from.getUTCFullYear() + (precision === 'year' ? 1 : 0),
    month: from.getUTCMonth() + 1 + (precision === 'month' ? 1 : 0),
    day: from.getUTCDate() + (precision === 'day' ? 1 : 0),
  };
  const iso = from.toISOString().slice(0, { day: 10, month: 7, year: 4 }[precision]);
  return { iso, plain: iso, end: utc(next), relative };
}

function partsOf({ start }: ParsedResult): Day {
  return { year: start.get('year')!, month: start.get('month')!, day: start.get('day')! };
}

/** A month or day without a year that lies ahead of what was done: it is last year's, or what was done is about it. */
function isUncertain(found: ParsedResult, said: Date, direction: Direction): boolean {
  if (direction !== 'past' || found.start.isCertain('year') || !/[a-z]{3}|\//i.test(found.text)) return false;
  return utc({ ...partsOf(found), day: found.start.isCertain('day') ? partsOf(found).day : 1 }) > said;
}

function utc({ year, month, day }: Day): Date {
  return new Date(Date.UTC(year, month - 1, day));
}

function touchesWord(text: string, index: number, words: string): boolean {
  return /[\p{L}\p{N}]/u.test(text[index - 1] ?? '') || /[\p{L}\p{N}]/u.test(text[index + words.length] ?? '');
}

/** How a chat export writes dates of digits. */
export type DayOrder = 'day first' | 'month first';

const clock = String.raw`\d{1,2}[:.]\d{2}(?:[:.]\d{2})?(?:[   ]?[AaPp]\.?[Mm]\.?)?`;
const day = String.raw`(?:\d{1,4}[/.-]\d{1,2}[/.-]\d{1,4}|\d{1,2}-[A-Z][a-z]{2}-\d{2,4})`;
/** A day, a time, or both, as chat exports write them. */
export const stampPattern = String.raw`(?:${day}(?:,|T)?(?: at)? ?(?:${clock})?Z?|(?:Today|Yesterday) at ${clock}|${clock})`;

const dayParts = /(?<first>\d{1,4})[/.-](?<second>\d{1,2})[/.-](?<third>\d{1,4})/;
const namedDay = /(?<day>\d{1,2})-(?<month>[A-Z][a-z]{2})-(?<year>\d{2,4})/;
const timeParts = /(?:^|[ T])(?<hour>\d{1,2})[:.](?<minute>\d{2})(?:[:.]\d{2})?(?:[   ]?(?<half>[AaPp])\.?[Mm])?/;

/** Whether the first number of `3/4/24` is the day: told by a stamp that can only be read one way. */
export function dayOrderOf(stamps: readonly string[]): DayOrder {
  let american = false;
  for (const stamp of stamps) {
    const groups = dayParts.exec(stamp)?.groups;
    if (!groups) continue;
    if (Number(groups['first']) > 12) return 'day first';
    if (Number(groups['second']) > 12) return 'month first';
    american ||= stamp.includes('/') && /[AaPp]\.?[Mm]/.test(stamp);
  }
  return american ? 'month first' : 'day first';
}

/** The moment of a stamp (its clock is taken as UTC); one without a day is on that of `before`. Null when it is none. */
export function momentOfStamp(stamp: string, order: DayOrder, before: Date | null): Date | null {
  const on = dayOfStamp(stamp, order, before);
  if (on === null) return null;
  const time = timeParts.exec(stamp)?.groups;
  if (!time) return on;
  const afternoon = time['half']?.toLowerCase() === 'p' ? 12 : 0;
  const hour = time['half'] === undefined ? Number(time['hour']) : (Number(time['hour']) % 12) + afternoon;
  const minutes = hour * 60 + Number(time['minute']);
  return minutes < 24 * 60 ? new Date(on.getTime() + minutes * 60_000) : null;
}

function dayOfStamp(stamp: string, order: DayOrder, before: Date | null): Date | null {
  const named = namedDay.exec(stamp)?.groups;
  if (named) return dayOf(fullYear(named['year']!), monthCalled(named['month']!), Number(named['day']));
  const parts = dayParts.exec(stamp)?.groups;
  if (!parts) return before === null || /^(?:Today|Yesterday)/.test(stamp) ? null : midnight(before);
  const [first, second, third] = [parts['first']!, Number(parts['second']), parts['third']!];
  if (first.length === 4) return dayOf(Number(first), second, Number(third));
  const isDayFirst = order === 'day first';
  return dayOf(fullYear(third), isDayFirst ? second : Number(first), isDayFirst ? Number(first) : second);
}

function fullYear(year: string): number {
  return year.length <= 2 ? 2000 + Number(year) : Number(year);
}

function midnight(date: Date): Date {
  return new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()));
}
