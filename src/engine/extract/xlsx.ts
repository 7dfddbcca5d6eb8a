import { failed, type Extracted } from './extracted.ts';
import { markdownTable } from './csv.ts';
import { propertiesOf, readXmlEvents } from './office-xml.ts';
import { openParts, relationsOf, type Parts } from './parts.ts';

type Page = Omit<Extracted, 'type'>;

/** A cell further right stands for a damaged or hostile sheet (the format's own limit is 16,384). */
const maxColumns = 16_384;

/** An Excel workbook (ECMA-376): each sheet as a heading and a table. Throws `extract_failed` when it is damaged. */
export function workbookText(bytes: Uint8Array): Page {
  const parts = openParts(bytes, 'Excel workbook');
  const workbook = parts.text('xl/workbook.xml');
  if (workbook === null) throw failed('The Excel workbook is damaged: it has no list of sheets.');
  const { sheets, startsIn1904 } = readWorkbook(workbook);
  const relations = relationsOf(parts, 'xl/workbook.xml');
  const reading = { strings: sharedStrings(parts), dates: dateStyles(parts), startsIn1904 };
  const texts = sheets.map(({ name, relation }) => {
    const xml = parts.text(relations.get(relation) ?? '');
    const table = xml === null ? '' : markdownTable(rowsOf(xml, reading));
    return table === '' ? '' : `## ${name}\n\n${table}`;
  });
  const { title, metadata } = propertiesOf(parts);
  return { text: texts.filter(Boolean).join('\n\n'), format: 'markdown', title: title ?? null, metadata };
}

interface Reading {
  strings: readonly string[];
  /** Whether numbers of a cell style are dates. */
  dates: readonly boolean[];
  startsIn1904: boolean;
}

function readWorkbook(xml: string) {
  const sheets: { name: string; relation: string }[] = [];
  let startsIn1904 = false;
  readXmlEvents(xml, {
    open(name, attributes) {
      if (name === 'sheet') sheets.push({ name: attributes['name'] ?? '', relation: attributes['r:id'] ?? '' });
      if (name === 'workbookPr') startsIn1904 = /^(?:1|true)$/.test(attributes['date1904'] ?? '');
    },
  });
  return { sheets, startsIn1904 };
}

/** Without the reading aids of East Asian text (`rPh`). */
function sharedStrings(parts: Parts): string[] {
  const strings: string[] = [];
  let text = '';
  let isText = false;
  let isAid = false;
  readXmlEvents(parts.text('xl/sharedStrings.xml') ?? '', {
    open(name) {
      if (name === 'si') text = '';
      if (name === 'rPh') isAid = true;
      isText = name === 't' && !isAid;
    },
    text(part) {
      if (isText) text += part;
    },
    close(name) {
      isText = false;
      if (name === 'rPh') isAid = false;
      if (name === 'si') strings.push(text);
    },
  });
  return strings;
}

/** Built-in number formats that show dates or times (ECMA-376 part 1, 18.8.30). */
const builtInDates = new Set([14, 15, 16, 17, 18, 19, 20, 21, 22, 45, 46, 47]);

function dateStyles(parts: Parts): boolean[] {
  const custom = new Map<string, boolean>();
  const styles: boolean[] = [];
  let isCells = false;
  readXmlEvents(parts.text('xl/styles.xml') ?? '', {
    open(name, { numFmtId = '', formatCode = '' }) {
      if (name === 'numFmt') custom.set(numFmtId, showsDate(formatCode));
      if (name === 'cellXfs') isCells = true;
      if (name === 'xf' && isCells) styles.push(custom.get(numFmtId) ?? builtInDates.has(Number(numFmtId)));
    },
    close(name) {
      if (name === 'cellXfs') isCells = false;
    },
  });
  return styles;
}

/** Letters of dates outside of quotes, brackets and escapes. */
function showsDate(code: string): boolean {
  return /[dmyhs]/i.test(code.replace(/"[^"]*"|\[[^\]]*\]|\\./g, ''));
}

function rowsOf(xml: string, reading: Reading): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let cell: { column: number; type: string; style: number } | null = null;
  let value = '';
  let isValue = false;
  readXmlEvents(xml, {
    open(name, attributes) {
      if (name === 'row') row = [];
      if (name === 'c') {
        const column = columnOf(attributes['r']) ?? row.length;
        cell = { column, type: attributes['t'] ?? 'n', style: Number(attributes['s'] ?? 0) };
        value = '';
      }
      isValue = cell !== null && (name === 'v' || name === 't');
    },
    text(part) {
      if (isValue) value += part;
    },
    close(name) {
      isValue = false;
      if (name === 'c' && cell) {
        if (value !== '' && cell.column < maxColumns) row[cell.column] = shown(value, cell, reading);
        cell = null;
      }
      if (name === 'row' && row.some((one) => one !== undefined)) rows.push(Array.from(row, (one) => one ?? ''));
    },
  });
  return rows;
}

/** `AB12` → 27. */
function columnOf(reference: string | undefined): number | null {
  const letters = /^[A-Z]{1,3}/.exec(reference ?? '')?.[0];
  if (letters === undefined) return null;
  return [...letters].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0) - 1;
}

function shown(value: string, { type, style }: { type: string; style: number }, reading: Reading): string {
  if (type === 's') return reading.strings[Number(value)] ?? '';
  if (type === 'b') return value === '1' ? 'TRUE' : 'FALSE';
  return type === 'n' && reading.dates[style] ? dateOf(Number(value), reading.startsIn1904) : value;
}

const dayMs = 86_400_000;

/** The days since the end of 1899, or of 1903; the part of a day is its time. */
function dateOf(days: number, startsIn1904: boolean): string {
  const start = startsIn1904 ? Date.UTC(1904, 0, 1) : Date.UTC(1899, 11, 30);
  const date = new Date(start + Math.round(days * 86_400) * 1000);
  if (Number.isNaN(date.getTime())) return String(days);
  const iso = date.toISOString();
  const time = date.getTime() % dayMs === 0 ? '' : iso.slice(11, iso.endsWith(':00.000Z') ? 16 : 19);
  return days < 1 ? time || iso.slice(11, 16) : [iso.slice(0, 10), time].filter(Boolean).join(' ');
}
