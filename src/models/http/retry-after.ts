/**
 * What a `Retry-After` header asks for, in milliseconds from `now`; null when it is absent or not
 * readable. Both forms of RFC 9110 section 10.2.3: seconds, or a date.
 */
export function readRetryAfter(header: string | null, now: Date): number | null {
  if (header === null || header.trim() === '') return null;
  const seconds = Number(header);
  if (Number.isFinite(seconds)) return Math.max(0, Math.ceil(seconds * 1000));
  const date = Date.parse(header);
  return Number.isNaN(date) ? null : Math.max(0, date - now.getTime());
}
