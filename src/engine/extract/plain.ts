import { plainLabel } from '../chunk/blocks.ts';
import { calendarText, isCalendar } from './calendar.ts';
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
  const underlined = /^(?:[=*#~^-]{3,}\n)?([^\n]{3,200})\n[=*#~^-]{3,}\n/.exec(head.trimStart());
  return underlined ? underlined[1]!.trim() : null;
}

function headingTitle(body: string): string | null {
  const start = body.trimStart();
  const first = /^#{1,6}[ \t]+([^\n]+)/.exec(start) ?? /^([^\n]{1,200})\n=+[ \t]*(?:\n|$)/.exec(start);
  const heading = first?.[1] ?? markupHeading(start) ?? firstTopHeading(body);
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
