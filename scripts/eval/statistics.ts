/** Mean with the bounds between which 95 % of the means of resampled values lie. Deterministic. */
export interface Estimate {
  mean: number;
  low: number;
  high: number;
  count: number;
}

const resamples = 1000;

export function estimate(values: readonly number[]): Estimate {
  const mean = meanOf(values);
  if (values.length < 2) return { mean, low: mean, high: mean, count: values.length };
  const random = createRandom(values.length);
  const means = Array.from({ length: resamples }, () => {
    let sum = 0;
    for (let draw = 0; draw < values.length; draw += 1) sum += values[Math.floor(random() * values.length)]!;
    return sum / values.length;
  }).sort((left, right) => left - right);
  return {
    mean,
    low: means[Math.floor(resamples * 0.025)]!,
    high: means[Math.floor(resamples * 0.975)]!,
    count: values.length,
  };
}

export function meanOf(values: readonly number[]): number {
  return values.length === 0 ? Number.NaN : values.reduce((sum, value) => sum + value, 0) / values.length;
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export function recallAt(ranked: readonly string[], relevant: ReadonlyMap<string, number>, cut: number): number {
  const top = new Set(ranked.slice(0, cut));
  return [...relevant.keys()].filter((id) => top.has(id)).length / relevant.size;
}

export function ndcgAt(ranked: readonly string[], relevant: ReadonlyMap<string, number>, cut: number): number {
  const gain = (grades: readonly number[]) =>
    grades.slice(0, cut).reduce((sum, grade, place) => sum + (2 ** grade - 1) / Math.log2(place + 2), 0);
  const ideal = gain([...relevant.values()].sort((left, right) => right - left));
  return ideal === 0 ? 0 : gain(ranked.map((id) => relevant.get(id) ?? 0)) / ideal;
}

/** Mulberry32. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
