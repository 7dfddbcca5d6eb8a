/** A date that a text names, as the days that it covers. */
export interface FoundDate {
  /** The words that name it. */
  words: string;
  index: number;
  /** `2026-03-04`, or `2026-03` for a month, `2026` for a year. */
  iso: string;
  /** The first moment after it (UTC). */
  end: Date;
  /** It only has a meaning on the day on which it is said. */
  relative: boolean;
}

interface Day {
  year: number;
  month: number;
  day: number;
}
type Precision = 'day' | 'month' | 'year';

const months = 'january february march april may june july august september october november december'.split(' ');
const days = 'sunday monday tuesday wednesday thursday friday saturday'.split(' ');
const numbers = 'zero one two three four five six seven eight nine ten eleven twelve'.split(' ');

const monthName = `(?:${months.map((name) => `${name.slice(0, 3)}(?:${name.slice(3)})?`).join('|')})\\.?`;
const dayName = `(?:${days.join('|')})`;
const count = `(?:\\d{1,3}|an?|${numbers.slice(1).join('|')}|a couple of|a few)`;

const pattern = new RegExp(
  [
    String.raw`(?<iso>\d{4}-\d{2}-\d{2})`,
    String.raw`(?<day1>\d{1,2})(?:st|nd|rd|th)?(?: of)? (?<month1>${monthName})(?:,? (?<year1>\d{4}))?`,
    String.raw`(?<month2>${monthName}) (?<day2>\d{1,2})(?:st|nd|rd|th)?(?!\d)(?:,? (?<year2>\d{4}))?`,
    String.raw`(?<month3>${monthName}),? (?<year3>\d{4})`,
    String.raw`(?<word>the day before yesterday|the day after tomorrow|yesterday|last night|today|tonight|this (?:morning|afternoon|evening)|tomorrow)`,
    String.raw`(?<ago>${count}) (?<agoUnit>day|week|month|year)s? (?<agoWay>ago|from now)`,
    String.raw`in (?<hence>${count}) (?<henceUnit>day|week|month|year)s?`,
    String.raw`(?<way>last|this|next) (?<unit>week(?:end)?|month|year)`,
    String.raw`(?<dayWay>last|this|next|by|until) (?<weekday>${dayName})(?!s)`,
  ].join('|'),
  'gi',
);

/** The dates in a text, resolved against the day on which it was said. English. Impossible ones are left out. */
export function findDates(text: string, said: Date): FoundDate[] {
  const today = { year: said.getUTCFullYear(), month: said.getUTCMonth(), day: said.getUTCDate() };
  return [...text.matchAll(pattern)].flatMap((match) => {
    if (
      /[\p{L}\p{N}]/u.test(text[match.index - 1] ?? '') ||
      /[\p{L}\p{N}]/u.test(text[match.index + match[0].length] ?? '')
    )
      return [];
    const resolved = resolve(match.groups!, today);
    if (!resolved) return [];
    return [{ words: match[0], index: match.index, ...resolved }];
  });
}

type Resolved = Pick<FoundDate, 'iso' | 'end' | 'relative'> | null;

function resolve(groups: Record<string, string | undefined>, today: Day): Resolved {
  const { iso, day1, month1, year1, day2, month2, year2, month3, year3, word } = groups;
  if (iso) {
    const [year, month, day] = iso.split('-').map(Number) as [number, number, number];
    return absolute({ year, month: month - 1, day });
  }
  if (month1) return named(day1!, month1, year1, today);
  if (month2) return named(day2!, month2, year2, today);
  if (month3) return found({ year: Number(year3), month: monthOf(month3), day: 1 }, 'month', false);
  if (word) return found(shift(today, 'day', dayOffset(word.toLowerCase())), 'day', true);
  return relativeTo(groups, today);
}

function relativeTo(groups: Record<string, string | undefined>, today: Day): Resolved {
  const { ago, agoUnit, agoWay, hence, henceUnit, way, unit, dayWay, weekday } = groups;
  if (ago) return counted(ago, agoUnit!, agoWay!.toLowerCase() === 'ago' ? -1 : 1, today);
  if (hence) return counted(hence, henceUnit!, 1, today);
  if (weekday) return found(weekdayOf(weekday.toLowerCase(), dayWay!.toLowerCase(), today), 'day', true);
  const step = { last: -1, this: 0, next: 1 }[way!.toLowerCase() as 'last' | 'this' | 'next'];
  const name = unit!.toLowerCase();
  if (name.startsWith('week')) return week(today, step, name === 'weekend');
  return found(shift(today, name as 'month' | 'year', step), name as Precision, true);
}

/** A week is named by its Monday, a weekend by its Saturday. */
function week(today: Day, step: number, isWeekend: boolean): Resolved {
  const sinceMonday = (weekdayNumber(today) + 6) % 7;
  const first = shift(today, 'day', 7 * step - sinceMonday + (isWeekend ? 5 : 0));
  const end = dateOf(shift(first, 'day', isWeekend ? 2 : 7));
  return { iso: isoOf(first, 'day'), end, relative: true };
}

function weekdayOf(name: string, way: string, today: Day): Day {
  const ahead = (days.indexOf(name) - weekdayNumber(today) + 7) % 7;
  if (way === 'last') return shift(today, 'day', ahead === 0 ? -7 : ahead - 7);
  return shift(today, 'day', way === 'next' && ahead === 0 ? 7 : ahead);
}

function counted(amount: string, unit: string, sign: number, today: Day): Resolved {
  const name = unit.toLowerCase();
  const times = numberOf(amount.toLowerCase()) * sign;
  if (name === 'week') return found(shift(today, 'day', 7 * times), 'day', true);
  return found(shift(today, name as Precision, times), name as Precision, true);
}

function numberOf(words: string): number {
  if (/^\d/.test(words)) return Number(words);
  if (words === 'a' || words === 'an') return 1;
  if (words === 'a couple of') return 2;
  if (words === 'a few') return 3;
  return numbers.indexOf(words);
}

function dayOffset(word: string): number {
  if (word === 'the day before yesterday') return -2;
  if (word === 'the day after tomorrow') return 2;
  if (word === 'yesterday' || word === 'last night') return -1;
  return word === 'tomorrow' ? 1 : 0;
}

function named(day: string, month: string, year: string | undefined, today: Day): Resolved {
  return absolute({ year: year === undefined ? today.year : Number(year), month: monthOf(month), day: Number(day) });
}

function absolute(day: Day): Resolved {
  const date = dateOf(day);
  const exists = date.getUTCMonth() === day.month && date.getUTCDate() === day.day;
  return exists ? found(day, 'day', false) : null;
}

function monthOf(name: string): number {
  return months.findIndex((month) => month.startsWith(name.toLowerCase().slice(0, 3)));
}

function found(day: Day, precision: Precision, relative: boolean): Resolved {
  const start = { ...day, ...(precision !== 'day' && { day: 1 }), ...(precision === 'year' && { month: 0 }) };
  return { iso: isoOf(start, precision), end: dateOf(shift(start, precision, 1)), relative };
}

/** Months and years keep the day where the month has it, else its last one. */
function shift({ year, month, day }: Day, unit: Precision, times: number): Day {
  if (unit === 'day') return dayOf(dateOf({ year, month, day: day + times }));
  const target = { year: unit === 'year' ? year + times : year, month: unit === 'month' ? month + times : month };
  const length = dateOf({ ...target, month: target.month + 1, day: 0 }).getUTCDate();
  return dayOf(dateOf({ ...target, day: Math.min(day, length) }));
}

function dateOf({ year, month, day }: Day): Date {
  return new Date(Date.UTC(year, month, day));
}

function dayOf(date: Date): Day {
  return { year: date.getUTCFullYear(), month: date.getUTCMonth(), day: date.getUTCDate() };
}

function weekdayNumber(day: Day): number {
  return dateOf(day).getUTCDay();
}

function isoOf(day: Day, precision: Precision): string {
  const iso = dateOf(day).toISOString();
  return iso.slice(0, { day: 10, month: 7, year: 4 }[precision]);
}
