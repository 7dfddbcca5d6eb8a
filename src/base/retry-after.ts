/** Longer than that nobody waits for what one answer says; the server is asked again. */
const longestMs = 24 * 60 * 60_000;

/** Milliseconds since 1970 of an HTTP date (RFC 9110 section 5.6.7), by the clock of its server; null when it is none. */
export function readHttpDate(text: string | null | undefined): number | null {
  if (!text || !/[a-z]{3}/i.test(text)) return null;
  const time = Date.parse(text);
  return Number.isNaN(time) ? null : time;
}

/**
 * Reads a `Retry-After` header (RFC 9110 section 10.2.3) as milliseconds from the answer on. A
 * date counts from the answer's own `Date`, so that wrong clocks do not matter, else from what is known
 * of the server's clock. Null when the header is missing or makes no sense.
 */
export function readRetryAfter(
  headers: { retryAfter: string | null | undefined; date: string | null | undefined },
  serverNow: number | null = null,
): number | null {
  const text = headers.retryAfter?.trim();
  if (text !== undefined && /^\d+(\.\d+)?$/.test(text)) return boundedWait(Number(text) * 1_000);
  const time = readHttpDate(text);
  const from = readHttpDate(headers.date) ?? serverNow;
  return time === null || from === null ? null : boundedWait(time - from);
}

/** Milliseconds to wait: not negative, and at most a day. */
export function boundedWait(ms: number): number {
  return Math.min(Math.max(0, Math.ceil(ms)), longestMs);
}
