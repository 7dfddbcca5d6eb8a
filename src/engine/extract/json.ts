import type { Extracted } from './extracted.ts';
import { demoteHeadings, markdownText } from './plain.ts';

type Plain = Omit<Extracted, 'type'>;

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
