/** The headers of an answer, and when it came: by this process's clock and by what is known of the source's. */
export interface Heard {
  headers: Record<string, string>;
  now: number;
  sourceNow: number;
}

/** Longer than that nobody waits for what one answer says; the source is asked again. */
const longestMs = 24 * 60 * 60_000;
/** Smaller numbers in a reset header are seconds from now; the larger ones are seconds since 1970. */
const firstUnixSeconds = 1_000_000_000;

/** Milliseconds since 1970 by the source's clock, from an HTTP date (RFC 9110 section 5.6.7); null when it is none. */
export function readHttpDate(text: string | undefined): number | null {
  if (text === undefined || !/[a-z]{3}/i.test(text)) return null;
  const time = Date.parse(text);
  return Number.isNaN(time) ? null : time;
}

/**
 * What `Retry-After` says (RFC 9110 section 10.2.3), by this process's clock, in milliseconds since
 * 1970. A date counts from the answer's own `Date`, so that wrong clocks do not matter. Null when the
 * header is missing or makes no sense.
 */
export function readRetryAfter(heard: Heard): number | null {
  const text = heard.headers['retry-after']?.trim();
  if (text !== undefined && /^\d+(\.\d+)?$/.test(text)) return heard.now + limited(Number(text) * 1_000);
  const date = readHttpDate(text);
  return date === null ? null : fromSourceTime(date, heard);
}

/** A time by the source's clock as one of ours: never past, at most a day ahead. */
export function fromSourceTime(time: number, { headers, now, sourceNow }: Heard): number {
  return now + limited(time - (readHttpDate(headers['date']) ?? sourceNow));
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
  return delta ? heard.now + limited(seconds * 1_000) : fromSourceTime(seconds * 1_000, heard);
}

function limited(ms: number): number {
  return Math.min(Math.max(0, ms), longestMs);
}
