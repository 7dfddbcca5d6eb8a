/** What was added on a day, as the API counts it; days without anything are left out. */
export interface GrowthDay {
  /** `YYYY-MM-DD`, in UTC. */
  day: string;
  documents: number;
}

export interface GrowthSeries {
  /** Each day's beginning, in seconds since 1970. */
  seconds: number[];
  /** How many documents there were at the end of each. */
  documents: number[];
}

const daySeconds = 86_400;
const secondsOf = (day: string) => Date.parse(`${day}T00:00:00Z`) / 1_000;

/** Every day from the first one that is named to today, so that quiet days are flat; `total` is how many there are now. */
export function growthSeries(growth: readonly GrowthDay[], total: number, today: Date): GrowthSeries {
  const added = new Map(growth.map(({ day, documents }) => [secondsOf(day), documents]));
  const last = secondsOf(today.toISOString().slice(0, 10));
  const first = Math.min(last, ...added.keys());
  const seconds: number[] = [];
  for (let at = first; at <= last; at += daySeconds) seconds.push(at);
  let count = total - [...added.values()].reduce((sum, documents) => sum + documents, 0);
  return { seconds, documents: seconds.map((at) => (count += added.get(at) ?? 0)) };
}
