import type { Estimate } from './statistics.ts';

export interface Figure extends Estimate {
  set: string;
  /** A search mode, or empty. */
  mode: string;
  metric: string;
}

export function printFigures(figures: readonly Figure[]): void {
  const width = (column: (figure: Figure) => string) => Math.max(0, ...figures.map((figure) => column(figure).length));
  const [sets, kinds, metrics] = [width(({ set }) => set), width(({ mode }) => mode), width(({ metric }) => metric)];
  for (const figure of figures) {
    const interval = figure.low === figure.high ? '' : `[${shown(figure, figure.low)}, ${shown(figure, figure.high)}]`;
    console.log(
      `${figure.set.padEnd(sets)}  ${figure.mode.padEnd(kinds)}  ${figure.metric.padEnd(metrics)}  ${shown(figure, figure.mean).padStart(7)}  ${interval.padEnd(16)} n=${figure.count}`,
    );
  }
}

/** Shares in percent; counts and times as they are. */
function shown({ metric }: Figure, value: number): string {
  if (Number.isNaN(value)) return '–';
  return /\bms\b|^count/.test(metric) ? value.toFixed(metric.startsWith('count') ? 0 : 1) : (value * 100).toFixed(1);
}
