export interface Figure {
  name: string;
  /** What was measured. */
  value: string;
  /** What it is compared with, measured in the same run. */
  limit: string;
  ratio: string;
  target: string;
}

export function seconds(ms: number): string {
  return ms < 1_000 ? `${ms.toFixed(1)} ms` : `${(ms / 1_000).toFixed(2)} s`;
}

export function ratio(part: number, whole: number): string {
  return (part / whole).toFixed(2);
}

export function printFigure(figure: Figure): void {
  console.log(
    `${figure.name}\n  ${figure.value}\n  ${figure.limit}\n  ratio ${figure.ratio} (target ${figure.target})`,
  );
}

/** The middle one of some measurements. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}
