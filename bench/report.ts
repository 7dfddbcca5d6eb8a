export interface Figure {
  name: string;
  /** What was measured. */
  value: string;
  /** What it is compared with, measured in the same run. Null: there is nothing to compare with. */
  limit: string | null;
  /** Value and limit as one number. */
  ratio: number | null;
  /** Which ratios are good ones; without a ratio, which values. */
  better: 'larger' | 'smaller';
  /** The worst ratio that is good enough. Null: only reported. */
  target: number | null;
}

export function seconds(ms: number): string {
  return ms < 1_000 ? `${ms.toFixed(1)} ms` : `${(ms / 1_000).toFixed(2)} s`;
}

/** The middle one of some measurements. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

/** The smallest and the largest of some measurements. */
export function spread(valuesMs: readonly number[]): string {
  return `${seconds(Math.min(...valuesMs))} to ${seconds(Math.max(...valuesMs))}`;
}

/** The least that a work could cost is no limit where the work cost less: then it was another work. */
export function againstLeast(limit: string, ratio: number): Pick<Figure, 'limit' | 'ratio'> {
  return ratio > 1 ? { limit: `none (${limit})`, ratio: null } : { limit, ratio };
}

/** Null when there is no target. */
export function meetsTarget({ ratio, better, target }: Figure): boolean | null {
  if (ratio === null || target === null) return null;
  return better === 'larger' ? ratio >= target : ratio <= target;
}

export function printFigure(figure: Figure): void {
  const cells = cellsOf(figure).map((cell, column) => (column === 0 ? cell : `  ${headings[column]!}: ${cell}`));
  console.log(cells.filter((cell) => !cell.endsWith(`: ${nothing}`)).join('\n'));
}

const nothing = '–';
const headings = ['name', 'value', 'limit', 'ratio', 'better', 'target'];

/** One line for each figure, in aligned columns. */
export function printTable(figures: readonly Figure[]): void {
  const rows = [headings, ...figures.map(cellsOf)];
  const widths = headings.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const line = (row: readonly string[]) => row.map((cell, column) => cell.padEnd(widths[column]!)).join('  ');
  console.log(line(headings));
  console.log(widths.map((width) => '─'.repeat(width)).join('  '));
  for (const row of rows.slice(1)) console.log(line(row).trimEnd());
}

function cellsOf(figure: Figure): string[] {
  const { name, value, limit, ratio, better } = figure;
  return [name, value, limit ?? nothing, ratio?.toFixed(2) ?? nothing, better, targetCell(figure)];
}

function targetCell(figure: Figure): string {
  const met = meetsTarget(figure);
  if (met === null) return nothing;
  return `${figure.better === 'larger' ? '≥' : '≤'} ${figure.target!.toFixed(2)} ${met ? 'met' : 'MISSED'}`;
}
