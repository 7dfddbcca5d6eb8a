import { stripVTControlCharacters } from 'node:util';
import { at, firstOf, lastOf } from '../base/collections.ts';

/**
 * Text of documents made safe for a terminal: escape sequences, control characters and direction
 * overrides are removed, line breaks and tabs become spaces.
 */
export function oneLine(text: string): string {
  return stripVTControlCharacters(text)
    .replace(/\s+/g, ' ')
    .replace(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, '')
    .trim();
}

const wide =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\u3000-\u303f\uff01-\uff60]/u;
const invisible = /[\p{M}\u200b-\u200d\ufe00-\ufe0f]/u;

/** Terminal columns that a text takes. */
export function displayWidth(text: string): number {
  let width = 0;
  for (const character of stripVTControlCharacters(text)) {
    if (!invisible.test(character)) width += wide.test(character) ? 2 : 1;
  }
  return width;
}

/** The text cut to a number of columns, with an ellipsis when something is missing. */
export function truncate(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text;
  let kept = '';
  let width = 0;
  for (const character of text) {
    width += displayWidth(character);
    if (width > columns - 1) break;
    kept += character;
  }
  return `${kept.trimEnd()}…`;
}

/** Lines of at most so many columns, broken at spaces; a longer word is broken inside. */
export function wrap(text: string, columns: number): string[] {
  const lines: string[] = [];
  let line = '';
  // Kept beside the line: what has no width makes lines of any length.
  let width = 0;
  for (const word of text.split(' ').flatMap((part) => pieces(part, columns))) {
    const added = displayWidth(word);
    if (line !== '' && width + 1 + added > columns) {
      lines.push(line);
      line = word;
      width = added;
    } else {
      width += line === '' ? added : added + 1;
      line = line === '' ? word : `${line} ${word}`;
    }
  }
  return line === '' ? lines : [...lines, line];
}

function pieces(word: string, columns: number): string[] {
  const parts: string[] = [];
  let part = '';
  let width = 0;
  for (const character of word) {
    const added = displayWidth(character);
    if (width + added > columns && part !== '') {
      parts.push(part);
      part = '';
      width = 0;
    }
    part += character;
    width += added;
  }
  return part === '' ? parts : [...parts, part];
}

/** The same, but the end is kept: of a path it tells more than the beginning. */
function truncateStart(text: string, columns: number): string {
  const characters = [...text];
  let start = 0;
  for (let width = displayWidth(text); width > columns - 1; start += 1) width -= displayWidth(at(characters, start));
  return `…${characters.slice(start).join('')}`;
}

/** The narrowest width of a column that is cut. */
const narrowest = 10;

/**
 * Columns aligned to the left, two spaces apart. Cells are made safe; the last column is cut to the width, and before
 * it those whose index is in `cuttable`. Of a path the end is kept: of what begins with `/`, and in a column of `paths`
 * of what holds one.
 */
export function table(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  columns: number,
  { cuttable = [], paths = [] }: { cuttable?: readonly number[]; paths?: readonly number[] } = {},
): string[] {
  const cells = [headings, ...rows].map((row) => row.map(oneLine));
  const widths = headings.map((_, index) => Math.max(...cells.map((row) => displayWidth(row[index] ?? ''))));
  const taken = widths.slice(0, -1).reduce((sum, width) => sum + width + 2, Math.min(lastOf(widths), narrowest));
  let over = Math.max(0, taken - columns);
  for (const index of cuttable) {
    const width = at(widths, index);
    const cut = Math.min(over, Math.max(0, width - narrowest));
    widths[index] = width - cut;
    over -= cut;
  }
  return cells.map((row) => {
    const others = row.slice(0, -1).map((cell, index) => {
      const width = at(widths, index);
      const shown = cutTo(cell, width, paths.includes(index));
      return `${shown}${' '.repeat(width - displayWidth(shown))}  `;
    });
    const room = Math.max(columns - displayWidth(others.join('')), narrowest);
    return `${others.join('')}${cutTo(row.at(-1) ?? '', room)}`.trimEnd();
  });
}

function cutTo(cell: string, room: number, mayBePath = false): string {
  const isPath = cell.startsWith('/') || (mayBePath && cell.includes('/'));
  return displayWidth(cell) > room && isPath ? truncateStart(cell, room) : truncate(cell, room);
}

/** The shortest beginnings by which ids are told apart, of at least 6 characters; commands take them. */
export function shortIds(ids: readonly string[]): string[] {
  const isUnique = (length: number) => new Set(ids.map((id) => id.slice(0, length))).size === new Set(ids).size;
  let length = 6;
  while (!isUnique(length)) length += 1;
  return ids.map((id) => id.slice(0, length));
}

const dateFormat = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'short' });

/** A timestamp of the API in local time, `2026-03-01 09:30`; a dash for none. */
export function localTime(timestamp: string | null | undefined): string {
  if (!timestamp) return '-';
  const date = new Date(timestamp);
  return Number.isNaN(date.getTime()) ? '-' : dateFormat.format(date);
}

/** The local day of a timestamp of the API; a dash for none. */
export function localDay(timestamp: string | null | undefined): string {
  return firstOf(localTime(timestamp).split(' '));
}

/** `8 s`, `3 min`, `2 h 5 min`, `4 d 3 h`. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** `1 document`, `3 documents`. */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${count.toLocaleString('en-US')} ${count === 1 ? noun : plural}`;
}
