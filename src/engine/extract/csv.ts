import { firstOf } from '../../base/collections.ts';
import type { Extracted } from './extracted.ts';

type Plain = Omit<Extracted, 'type'>;

/** Columns up to which rows are always filled up. */
const widestFilled = 16;
const delimiters = [',', ';', '\t', '|'];

/** A Markdown table with the first row as its header, so that each chunk of it can repeat the header. */
export async function csvText(text: string, delimiter = findDelimiter(text)): Promise<Plain> {
  const { parse } = await import('csv-parse/sync');
  try {
    const rows: string[][] = parse(text, {
      delimiter,
      relax_column_count: true,
      relax_quotes: true,
      skip_empty_lines: true,
      skip_records_with_empty_values: true,
    });
    return { text: markdownTable(rows), format: 'csv', title: null };
  } catch {
    return { text, format: 'text', title: null, degraded: ['The table is not valid CSV; it was taken as text.'] };
  }
}

/** The delimiter that splits the first lines into the most columns, the same number in each. */
function findDelimiter(text: string): string {
  const lines = text
    .slice(0, 20_000)
    .split('\n')
    .filter((line) => line.trim() !== '')
    .slice(0, 10);
  const scores = delimiters.map((delimiter) => {
    const columns = lines.map((line) => line.replace(/"[^"]*"/g, '').split(delimiter).length);
    const even = columns.filter((count) => count === columns[0]).length / lines.length;
    return (columns[0] ?? 1) > 1 ? even * 100 + Math.min(firstOf(columns), 50) : 0;
  });
  const best = scores.indexOf(Math.max(...scores));
  return delimiters[best] ?? ',';
}

/** Rows of cells as a Markdown table; the first row is the header. Cells are one line each. */
export function markdownTable(rows: readonly (readonly string[])[]): string {
  const width = widthOf(rows);
  const [header = [], ...body] = rows;
  const line = (cells: readonly string[]) =>
    `| ${Array.from({ length: Math.max(width, cells.length) }, (_, index) => cellText(cells[index] ?? '')).join(' | ')} |`;
  return rows.length === 0 ? '' : [line(header), `|${' --- |'.repeat(width)}`, ...body.map(line)].join('\n');
}

/** The width of the widest row, unless most of the table would then be empty: one wide row above a million short ones. */
function widthOf(rows: readonly (readonly string[])[]): number {
  const widest = rows.reduce((most, row) => Math.max(most, row.length), 0);
  const cells = rows.reduce((sum, row) => sum + row.length, 0);
  return widest * rows.length <= 4 * cells + 1000 ? widest : Math.min(rows[0]?.length ?? 0, widestFilled);
}

function cellText(value: string): string {
  return value
    .trim()
    .replace(/(?<!\s)\s*\n\s*/g, ' ')
    .replaceAll('|', String.raw`\|`);
}
