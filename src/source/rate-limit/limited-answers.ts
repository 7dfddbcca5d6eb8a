import { boundedWait, readHttpDate, readRetryAfter } from '../../base/retry-after.ts';
import type { Verdict } from '../../connector/contract.ts';
import type { RequestBudgets } from './budgets.ts';

/** The headers of an answer, and when it came: by this process's clock and by what is known of the source's. */
export interface Heard {
  headers: Record<string, string>;
  now: number;
  sourceNow: number;
}

/** A source's statement about the next request when it refuses one for its rate limit. */
export interface Limit {
  /** Nothing before, by this process's clock, in milliseconds since 1970; null when the source does not say. */
  until: number | null;
  /** The request came too fast, not too often. */
  slowDown: boolean;
}

/** The rate limit in an answer: 429 and 529 always, 503 and 403 when they tell of one; null without one. */
export function limitOf(status: number, heard: Heard): Limit | null {
  const { headers } = heard;
  const until = readRetryTime(heard);
  const spent = headers['x-ratelimit-remaining']?.trim() === '0';
  const reset = spent ? readReset(headers['x-ratelimit-reset'], 'either', heard) : null;
  const limit = { until: until ?? reset, slowDown: !spent };
  if (status === 429 || status === 529) return limit;
  if (status === 503) return until === null ? null : limit;
  return status === 403 && (until !== null || spent) ? limit : null;
}

/** Smaller numbers in a reset header are seconds from now; the larger ones are seconds since 1970. */
const firstUnixSeconds = 1_000_000_000;

/** The time in `Retry-After` by this process's clock, in milliseconds since 1970; null without one. */
function readRetryTime({ headers, now, sourceNow }: Heard): number | null {
  const waitMs = readRetryAfter({ retryAfter: headers['retry-after'], date: headers['date'] }, sourceNow);
  return waitMs === null ? null : now + waitMs;
}

/** A time by the source's clock as one of ours: never past, at most a day ahead. */
function fromSourceTime(time: number, { headers, now, sourceNow }: Heard): number {
  return now + boundedWait(time - (readHttpDate(headers['date']) ?? sourceNow));
}

/** The time of a reset header, in seconds from now or since 1970, by this process's clock. */
export function readReset(
  text: string | undefined,
  unit: 'unix-seconds' | 'delta-seconds' | 'either',
  heard: Heard,
): number | null {
  if (text === undefined || !/^\s*\d+(\.\d+)?\s*$/.test(text)) return null;
  const seconds = Number(text);
  const delta = unit === 'delta-seconds' || (unit === 'either' && seconds < firstUnixSeconds);
  return delta ? heard.now + boundedWait(seconds * 1_000) : fromSourceTime(seconds * 1_000, heard);
}

/** The limit in a verdict of the connector about an answer. */
export function limitOfVerdict(verdict: Verdict, heard: Heard): Limit {
  const { retryAfterMs, retryAt } = verdict;
  if (retryAfterMs !== undefined) return { until: heard.now + Math.max(0, retryAfterMs), slowDown: true };
  return { until: retryAt ? fromSourceTime(retryAt.getTime(), heard) : readRetryTime(heard), slowDown: true };
}

/** Stops every request of the budgets that a refused one counted in. Answers when the last of them goes on. */
export async function pauseBudgets({ budgets }: RequestBudgets, { until, slowDown }: Limit): Promise<number> {
  return Math.max(...(await Promise.all(budgets.map((budget) => budget.refused({ until, slowDown })))));
}
