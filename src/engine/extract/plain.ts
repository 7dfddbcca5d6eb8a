import { plainLabel } from '../chunk/blocks.ts';
import type { Metadata } from '../document.ts';
import type { Extracted } from './extracted.ts';

type Plain = Omit<Extracted, 'type'>;

const frontMatter = /^---[ \t]*\n([^]{0,65536}?)\n(?:---|\.\.\.)[ \t]*(?:\n|$)/;
const fence = /^ {0,3}(?:```|~~~)/gm;
const separateHeading = /(?:^|\n[ \t]*\n)#{1,6} [^\s#!a-z][^\n]{0,200}(?:\n|$)/g;
const jsonStart = /^\s*[{[]/;

/** Text whose kind nobody told: Markdown and JSON are recognized and stay as they are; calendars become their events. */
export function plainText(text: string): Plain {
  if (jsonStart.test(text) && isJson(text)) return { text, format: 'json', title: null };
  if (isCalendar(text)) return calendarText(text);
  if (looksLikeMarkdown(text)) return markdownText(text);
  return { text, format: 'text', title: namedTitle(text) };
}

/** The text verbatim. Title: from front matter, else the first heading when it stands at the top or is of level 1. */
export function markdownText(text: string): Plain {
  const matter = readFrontMatter(text);
  const metadata = metadataOf(matter.fields);
  const title = textField(matter.fields, 'title') ?? headingTitle(text.slice(matter.end));
  return { text, format: 'markdown', title, metadata };
}

export function codeText(text: string, language: string | undefined): Plain {
  return { text, format: 'code', title: null, metadata: language === undefined ? {} : { language } };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Two fences, or a heading with a blank line before it: comments in scripts begin with `#` too. */
function looksLikeMarkdown(text: string): boolean {
  if (text.startsWith('#!')) return false;
  return separateHeading.test(text) ? resetting(separateHeading) : (text.match(fence)?.length ?? 0) >= 2;
}

function resetting(pattern: RegExp): true {
  pattern.lastIndex = 0;
  return true;
}

/** The titles that reStructuredText, Org and LaTeX files give themselves. */
function namedTitle(text: string): string | null {
  const head = text.slice(0, 20_000);
  const named = /^#\+title:[ \t]*(.+)$/im.exec(head)?.[1] ?? /\\title\{([^{}]{1,300})\}/.exec(head)?.[1];
  if (named !== undefined) return named.trim();
  const underlined = /^(?:[=*#~^-]{3,}\n)?([^\n]{3,200})\n[=*#~^-]{3,}\n/.exec(head.trimStart())?.[1];
  return underlined !== undefined && saysSomething(underlined) ? underlined.trim() : null;
}

/** A rule above another one is no title. */
function saysSomething(line: string): boolean {
  return /[\p{L}\p{N}\p{S}]/u.test(line.replace(/[=*#~^-]/g, ''));
}

function headingTitle(body: string): string | null {
  const start = body.trimStart();
  const first = /^#{1,6}[ \t]+([^\n]+)/.exec(start) ?? /^([^\n]{1,200})\n=+[ \t]*(?:\n|$)/.exec(start);
  const top = first && saysSomething(first[1]!) ? first[1]! : undefined;
  const heading = top ?? markupHeading(start) ?? firstTopHeading(body);
  return heading === undefined ? null : plainLabel(heading).replace(/ #+$/, '') || null;
}

/** READMEs begin with a heading in HTML, to have it in the middle; pictures may stand above it. */
function markupHeading(start: string): string | undefined {
  if (!start.startsWith('<')) return undefined;
  const heading = /<h1\b[^>]{0,500}>([^]{1,500}?)<\/h1>/i.exec(start.slice(0, 4_000))?.[1];
  return (
    heading
      ?.replace(/<[^>]*>/g, ' ')
      .replace(/\s+/g, ' ')
      .trim() || undefined
  );
}

/** The first heading of level 1 outside of fences. */
function firstTopHeading(body: string): string | undefined {
  let fenced = false;
  for (const line of body.slice(0, 50_000).split('\n')) {
    if (/^ {0,3}(?:```|~~~)/.test(line)) fenced = !fenced;
    const heading = fenced ? null : /^# +(.+)/.exec(line);
    if (heading) return heading[1];
  }
  return undefined;
}

/** Markdown with all its headings so many levels deeper (at most 6), to stand inside of another. */
export function demoteHeadings(markdown: string, levels: number): string {
  let fenced = false;
  const lines = markdown.split('\n').map((line) => {
    if (/^ {0,3}(?:```|~~~)/.test(line)) fenced = !fenced;
    return fenced ? line : line.replace(/^#{1,6}(?= )/, (marks) => '#'.repeat(Math.min(6, marks.length + levels)));
  });
  return lines.join('\n');
}

type Fields = Map<string, string | string[]>;

/** The simple `key: value`, `key: [a, b]` and `- item` lines of front matter; nested values are left alone. */
function readFrontMatter(text: string): { fields: Fields; end: number } {
  const fields: Fields = new Map();
  const found = frontMatter.exec(text);
  if (!found) return { fields, end: 0 };
  let last = '';
  for (const line of (found[1] ?? '').split('\n')) {
    const [, name, value = ''] = /^([\w-]+):[ \t]*(.*)$/.exec(line) ?? [];
    const [, item] = /^[ \t]*-[ \t]+(.*)$/.exec(line) ?? [];
    if (name !== undefined) {
      last = name.toLowerCase();
      fields.set(last, readValue(value));
    } else if (item !== undefined && last !== '') {
      const before = fields.get(last);
      if (Array.isArray(before)) before.push(unquote(item));
      else fields.set(last, [unquote(item)]);
    }
  }
  return { fields, end: found[0].length };
}

function readValue(value: string): string | string[] {
  const list = /^\[(.*)\]\s*$/.exec(value);
  return list ? list[1]!.split(',').map(unquote).filter(Boolean) : unquote(value);
}

function unquote(value: string): string {
  return value.trim().replace(/^(["'])(.*)\1$/, '$2');
}

function textField(fields: Fields, name: string): string | undefined {
  const value = fields.get(name);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function metadataOf(fields: Fields): Metadata {
  const metadata: Metadata = {};
  for (const name of ['author', 'description', 'date'] as const) {
    const value = textField(fields, name);
    if (value !== undefined) metadata[name] = name === 'date' ? (isoDate(value) ?? value) : value;
  }
  const tags = fields.get('tags') ?? fields.get('keywords');
  if (tags !== undefined) metadata.tags = Array.isArray(tags) ? tags : tags.split(',').map((tag) => tag.trim());
  return metadata;
}

/** ISO 8601, or undefined when the value is not a date. */
export function isoDate(value: string): string | undefined {
  const time = Date.parse(value);
  return Number.isNaN(time) ? undefined : new Date(time).toISOString();
}

interface Cell {
  cell_type?: string;
  source?: string | string[];
  outputs?: { text?: string | string[]; data?: Record<string, string | string[]> }[];
}

const maxOutput = 2000;
const minifiedLine = 1000;

/** JSON verbatim when people wrote it over lines, else indented. Numbers keep their digits. */
export function jsonText(text: string): Plain {
  if (!hasLongLine(text)) return { text, format: 'json', title: null };
  try {
    return { text: JSON.stringify(JSON.parse(text, keepNumber), null, 2), format: 'json', title: null };
  } catch {
    return { text, format: 'json', title: null, degraded: ['The JSON is not valid; it was taken as text.'] };
  }
}

/** One value per line, each left as it is. */
export function jsonLinesText(text: string): Plain {
  return { text, format: 'json', title: null };
}

function hasLongLine(text: string): boolean {
  for (let start = 0; start < text.length;) {
    const end = text.indexOf('\n', start);
    if ((end < 0 ? text.length : end) - start > minifiedLine) return true;
    if (end < 0) break;
    start = end + 1;
  }
  return false;
}

/** A number that JavaScript would write otherwise (beyond 2^53, `1.0`) stays as its source says. */
function keepNumber(_key: string, value: unknown, context?: { source?: string }): unknown {
  const source = context?.source;
  return typeof value === 'number' && source !== undefined && String(value) !== source ? rawJson(source) : value;
}

/** `JSON.rawJSON` is in Node since version 21, but not yet in TypeScript's library. */
const rawJson = (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON;

/** A Jupyter notebook as Markdown: its text cells, its code in fences, and what the code printed. */
export function notebookText(text: string): Plain {
  const notebook = parseNotebook(text);
  if (!notebook) return { ...jsonText(text), degraded: ['The notebook is not valid; it was taken as JSON.'] };
  const { cells, language } = notebook;
  const markdown = cells
    .map((cell) => cellText(cell, language))
    .filter(Boolean)
    .join('\n\n');
  return { ...markdownText(markdown), metadata: { language } };
}

function parseNotebook(text: string): { cells: Cell[]; language: string } | null {
  try {
    const notebook = JSON.parse(text) as { cells?: unknown; metadata?: { kernelspec?: { language?: unknown } } };
    if (!Array.isArray(notebook.cells)) return null;
    const language = notebook.metadata?.kernelspec?.language;
    return { cells: notebook.cells as Cell[], language: typeof language === 'string' ? language : 'python' };
  } catch {
    return null;
  }
}

function cellText(cell: Cell, language: string): string {
  const source = joined(cell.source).trim();
  if (source === '' || cell.cell_type !== 'code') return source;
  const printed = (Array.isArray(cell.outputs) ? cell.outputs : [])
    .map((output) => joined(output.text ?? output.data?.['text/plain']).trim())
    .filter(Boolean)
    .join('\n')
    .slice(0, maxOutput);
  return [fenced(source, language), ...(printed === '' ? [] : [fenced(printed, '')])].join('\n\n');
}

function joined(lines: string | string[] | undefined): string {
  return Array.isArray(lines) ? lines.join('') : typeof lines === 'string' ? lines : '';
}

/** A file within another one: its headings stand under its own; code and data stand in a fence. */
export function embedded({ text, format, metadata }: Extracted): string {
  if (format === 'markdown') return demoteHeadings(text, 2);
  const named = metadata?.['language'];
  const language = format === 'json' ? 'json' : typeof named === 'string' ? named : '';
  return format === 'code' || format === 'json' ? fenced(text, language) : text;
}

/** A fenced code block whose fence is longer than any in the code. */
export function fenced(code: string, language: string): string {
  let longest = 2;
  for (const [, marks] of code.matchAll(/^[^\S\n]*(`{3,})/gm)) longest = Math.max(longest, marks!.length);
  const fence = '`'.repeat(longest + 1);
  return `${fence}${language}\n${code.replace(/(?<!\n)\n+$/, '')}\n${fence}`;
}

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
  const [start, due] = [momentOf('DTSTART'), momentOf('DUE')];
  const lasting = fields.find(({ name }) => name === 'DURATION')?.value;
  const end = momentOf('DTEND') ?? (start && lasting !== undefined ? momentAfter(start, lasting) : null);
  if (due) return [...(start ? [shown(start)] : []), `due ${shown(due)}`].join(', ');
  if (!start) return '';
  if (!end) return shown(start);
  if (start.hour === '') return shownDays(start.date, end.date);
  const isSameDay = end.date.getTime() === start.date.getTime();
  if (!isSameDay) return `${shown(start)} to ${shown(end)}`;
  return end.hour === start.hour ? shown(start) : `${shownDay(start.date)}, ${start.hour} to ${end.hour}${end.zone}`;
}

/** What ends so long after it began: `P1D`, `PT1H30M`, `P2W`. Null where the duration is none. */
function momentAfter(start: Moment, lasting: string): Moment | null {
  const parts = /^\+?P(?:(\d{1,4})W|(?:(\d{1,5})D)?(?:T(?:(\d{1,6})H)?(?:(\d{1,6})M)?(?:\d{1,6}S)?)?)$/i.exec(lasting);
  if (!parts) return null;
  const [weeks, wholeDays, hours, minutes] = parts.slice(1).map((part) => Number(part ?? 0)) as [
    number,
    number,
    number,
    number,
  ];
  const [hour, minute] = start.hour === '' ? [0, 0] : (start.hour.split(':').map(Number) as [number, number]);
  const end =
    start.date.getTime() + (weeks * 7 + wholeDays) * dayMs + ((hour + hours) * 60 + minute + minutes) * 60_000;
  const date = new Date(Math.floor(end / dayMs) * dayMs);
  return { ...start, date, hour: start.hour === '' ? '' : new Date(end).toISOString().slice(11, 16) };
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
