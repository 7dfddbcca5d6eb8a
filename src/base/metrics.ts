/** Counters and durations of this process, in memory; `render` gives what Prometheus reads. */
export interface Metrics {
  /** Adds to a counter. */
  count(name: string, labels: Labels, amount?: number): void;
  /** Adds a duration to a histogram whose name ends with `_seconds`. */
  observe(name: string, labels: Labels, ms: number): void;
  /** The value of a counter, or the number of durations that were observed. 0 for what was never counted. */
  read(name: string, labels: Labels): number;
  /** The text exposition format of Prometheus 0.0.4. */
  render(): string;
}

export type Labels = Readonly<Record<string, string>>;

/** Upper bounds of the histograms, in seconds. */
const bounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
/** A label whose values come from outside must not fill the memory; what is over this is left out. */
const maxSeries = 1_000;

interface Series {
  labels: string;
  value: number;
  /** Counts of a histogram: durations up to each bound, and above all of them. */
  buckets: number[] | null;
  sumSeconds: number;
}

export function createMetrics(): Metrics {
  const families = new Map<string, Map<string, Series>>();

  function seriesOf(name: string, labels: Labels): Series | undefined {
    let family = families.get(name);
    if (!family) families.set(name, (family = new Map()));
    const key = labelText(labels);
    let series = family.get(key);
    if (!series && family.size < maxSeries) {
      series = { labels: key, value: 0, buckets: null, sumSeconds: 0 };
      family.set(key, series);
    }
    return series;
  }

  return {
    count(name, labels, amount = 1) {
      const series = seriesOf(name, labels);
      if (series) series.value += amount;
    },
    observe(name, labels, ms) {
      const series = seriesOf(name, labels);
      if (!series) return;
      series.buckets ??= Array.from({ length: bounds.length + 1 }, () => 0);
      const bucket = bounds.findIndex((bound) => ms / 1_000 <= bound);
      series.buckets[bucket === -1 ? bounds.length : bucket]! += 1;
      series.sumSeconds += ms / 1_000;
      series.value += 1;
    },
    read: (name, labels) => families.get(name)?.get(labelText(labels))?.value ?? 0,
    render: () => [...families].map(([name, family]) => renderFamily(name, [...family.values()])).join(''),
  };
}

function renderFamily(name: string, family: readonly Series[]): string {
  const histogram = family.some((series) => series.buckets !== null);
  const lines = family.flatMap((series) => (histogram ? histogramLines(name, series) : [counterLine(name, series)]));
  return `# TYPE ${name} ${histogram ? 'histogram' : 'counter'}\n${lines.join('\n')}\n`;
}

function counterLine(name: string, { labels, value }: Series): string {
  return `${name}${braced(labels)} ${value}`;
}

function histogramLines(name: string, { labels, value, buckets, sumSeconds }: Series): string[] {
  let below = 0;
  const lines = bounds.map((bound, index) => {
    below += buckets?.[index] ?? 0;
    return `${name}_bucket${braced(labels, `le="${bound}"`)} ${below}`;
  });
  return [
    ...lines,
    `${name}_bucket${braced(labels, 'le="+Inf"')} ${value}`,
    `${name}_sum${braced(labels)} ${sumSeconds}`,
    `${name}_count${braced(labels)} ${value}`,
  ];
}

function braced(labels: string, more?: string): string {
  const all = [labels, more].filter((one) => one !== undefined && one !== '').join(',');
  return all === '' ? '' : `{${all}}`;
}

function labelText(labels: Labels): string {
  let text = '';
  for (const name in labels) text += `${text === '' ? '' : ','}${name}="${escaped(labels[name]!)}"`;
  return text;
}

function escaped(value: string): string {
  return /["\\\n]/.test(value) ? value.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n') : value;
}
