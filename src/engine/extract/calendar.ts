import type { Extracted } from './extracted.ts';

type Plain = Omit<Extracted, 'type'>;

interface Field {
  name: string;
  /** `TZID=Europe/Berlin;VALUE=DATE`. */
  parameters: string;
  value: string;
}

const days = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ');
const months = 'January February March April May June July August September October November December'.split(' ');

export function isCalendar(text: string): boolean {
  return /^\s*BEGIN:VCALENDAR\r?\n/i.test(text.slice(0, 200));
}

/** A calendar (RFC 5545) as Markdown: each event, task and note below its summary, with its time in words. Without any, as it is. */
export function calendarText(text: string): Plain {
  const entries: string[] = [];
  let title: string | null = null;
  let entry: Field[] | null = null;
  /** Components within an entry, such as its alarms. */
  let within = 0;
  for (const field of fieldsOf(text)) {
    const { name, value } = field;
    if (name === 'X-WR-CALNAME') title ??= unescaped(value).trim() || null;
    if (name === 'BEGIN' && entry) within += 1;
    else if (name === 'BEGIN' && /^(?:VEVENT|VTODO|VJOURNAL)$/i.test(value)) entry = [];
    else if (name === 'END' && within > 0) within -= 1;
    else if (name === 'END' && entry) {
      entries.push(entryText(entry));
      entry = null;
    } else if (within === 0) entry?.push(field);
  }
  if (entries.length === 0) return { text, format: 'text', title };
  return { text: [...(title ? [`# ${title}`] : []), ...entries].join('\n\n'), format: 'markdown', title };
}

function* fieldsOf(text: string): Generator<Field> {
  // Long lines are folded: the next begins with a space.
  for (const line of text.replace(/\r?\n[ \t]/g, '').split(/\r?\n/)) {
    const head = /^[A-Za-z-]{1,60}/.exec(line)?.[0];
    if (head === undefined) continue;
    const colon = /^(?:"[^"]*"|[^":])*:/.exec(line.slice(head.length))?.[0];
    if (colon === undefined) continue;
    const value = line.slice(head.length + colon.length);
    yield { name: head.toUpperCase(), parameters: colon.slice(0, -1), value };
  }
}

function entryText(fields: readonly Field[]): string {
  const textOf = (name: string) => unescaped(fields.find((field) => field.name === name)?.value ?? '').trim();
  const people = fields.filter(({ name }) => name === 'ORGANIZER' || name === 'ATTENDEE').map(personOf);
  const repeats = /FREQ=([A-Z]+)/i.exec(textOf('RRULE'))?.[1]?.toLowerCase();
  return [
    `## ${textOf('SUMMARY').replace(/\s+/g, ' ') || 'Without a title'}`,
    [whenOf(fields), repeats && `repeated ${repeats}`, textOf('LOCATION').replace(/\s+/g, ' ')]
      .filter(Boolean)
      .join('; '),
    textOf('DESCRIPTION'),
    [...new Set(people)].filter(Boolean).join(', '),
  ]
    .filter(Boolean)
    .join('\n\n');
}

function personOf({ parameters, value }: Field): string {
  const name = /;CN=(?:"([^"]*)"|([^;:]*))/i.exec(parameters);
  return (name?.[1] ?? name?.[2] ?? value.replace(/^mailto:/i, '')).trim();
}

interface Moment {
  date: Date;
  /** Without one it is the whole day. */
  hour: string;
  zone: string;
}

const dayMs = 86_400_000;

/** `Tuesday, 14 April 2026, 15:00 to 16:00 UTC`. */
function whenOf(fields: readonly Field[]): string {
  const momentOf = (wanted: string) =>
    fields
      .filter(({ name }) => name === wanted)
      .map(readMoment)
      .find((moment) => moment !== null) ?? null;
  const [start, end, due] = [momentOf('DTSTART'), momentOf('DTEND'), momentOf('DUE')];
  if (due) return [...(start ? [shown(start)] : []), `due ${shown(due)}`].join(', ');
  if (!start) return '';
  if (!end) return shown(start);
  if (start.hour === '') return shownDays(start.date, end.date);
  const isSameDay = end.date.getTime() === start.date.getTime();
  if (!isSameDay) return `${shown(start)} to ${shown(end)}`;
  return end.hour === start.hour ? shown(start) : `${shownDay(start.date)}, ${start.hour} to ${end.hour}${end.zone}`;
}

/** The end of an event of whole days is the day after it (RFC 5545, 3.6.1). */
function shownDays(first: Date, end: Date): string {
  const last = new Date(end.getTime() - dayMs);
  return last > first ? `${shownDay(first)} to ${shownDay(last)}` : shownDay(first);
}

function shown({ date, hour, zone }: Moment): string {
  return hour === '' ? shownDay(date) : `${shownDay(date)}, ${hour}${zone}`;
}

function shownDay(date: Date): string {
  return `${days[date.getUTCDay()]!}, ${date.getUTCDate()} ${months[date.getUTCMonth()]!} ${date.getUTCFullYear()}`;
}

function readMoment({ parameters, value }: Field): Moment | null {
  const parts = /^(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)\d*(Z?))?/.exec(value)?.slice(1);
  if (!parts) return null;
  const [year, month, date] = parts.slice(0, 3).map(Number) as [number, number, number];
  const day = new Date(Date.UTC(year, month - 1, date));
  if (day.getUTCDate() !== date || day.getUTCMonth() !== month - 1) return null;
  const zone = parts[5] === 'Z' ? ' UTC' : (/;TZID=([^;:]+)/i.exec(parameters)?.[1] ?? '').replace(/^(?=.)/, ' ');
  return { date: day, hour: parts[3] === undefined ? '' : `${parts[3]}:${parts[4]!}`, zone };
}

function unescaped(value: string): string {
  return value.replace(/\\([nN,;\\])/g, (_, sign: string) => (sign.toLowerCase() === 'n' ? '\n' : sign));
}
