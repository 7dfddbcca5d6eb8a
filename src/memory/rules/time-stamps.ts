/** How a chat export writes dates of digits. */
export type DayOrder = 'day first' | 'month first';

const clock = String.raw`\d{1,2}[:.]\d{2}(?:[:.]\d{2})?(?:[   ]?[AaPp]\.?[Mm]\.?)?`;
const day = String.raw`(?:\d{1,4}[/.-]\d{1,2}[/.-]\d{1,4}|\d{1,2}-[A-Z][a-z]{2}-\d{2,4})`;
/** A day, a time, or both, as chat exports write them. */
export const stampPattern = String.raw`(?:${day}(?:,|T)?(?: at)? ?(?:${clock})?Z?|(?:Today|Yesterday) at ${clock}|${clock})`;

const dayParts = /(?<first>\d{1,4})[/.-](?<second>\d{1,2})[/.-](?<third>\d{1,4})/;
const namedDay = /(?<day>\d{1,2})-(?<month>[A-Z][a-z]{2})-(?<year>\d{2,4})/;
const timeParts = /(?:^|[ T])(?<hour>\d{1,2})[:.](?<minute>\d{2})(?:[:.]\d{2})?(?:[   ]?(?<half>[AaPp])\.?[Mm])?/;
const monthNames = 'JanFebMarAprMayJunJulAugSepOctNovDec';

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
  if (named) return utc(fullYear(named['year']!), monthNames.indexOf(named['month']!) / 3 + 1, Number(named['day']));
  const parts = dayParts.exec(stamp)?.groups;
  if (!parts) return before === null || /^(?:Today|Yesterday)/.test(stamp) ? null : midnight(before);
  const [first, second, third] = [parts['first']!, Number(parts['second']), parts['third']!];
  if (first.length === 4) return utc(Number(first), second, Number(third));
  const isDayFirst = order === 'day first';
  return utc(fullYear(third), isDayFirst ? second : Number(first), isDayFirst ? Number(first) : second);
}

function fullYear(year: string): number {
  return year.length <= 2 ? 2000 + Number(year) : Number(year);
}

function utc(year: number, month: number, date: number): Date | null {
  const found = new Date(Date.UTC(year, month - 1, date));
  return found.getUTCMonth() === month - 1 && found.getUTCDate() === date ? found : null;
}

function midnight(date: Date): Date {
  return new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()));
}
