/** Numbers, sizes and times as the reader's browser writes them, in the reader's time zone. */

const numbers = new Intl.NumberFormat();
const days = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' });
const shortDays = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' });
const localDays = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });
const hours = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const seconds = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });
const moments = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
const fullMoments = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'long' });
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'long' });

export const formatNumber = (value: number): string => numbers.format(value);
export const formatDay = (iso: string): string => days.format(new Date(iso));
/** Of a day that is counted in UTC. */
export const formatShortDay = (seconds: number): string => shortDays.format(seconds * 1_000);
/** Of a moment on the reader's clock. */
export const formatShortMoment = (seconds: number): string => localDays.format(seconds * 1_000);
export const formatHour = (seconds: number): string => hours.format(seconds * 1_000);
export const formatSecond = (second: number): string => seconds.format(second * 1_000);
export const formatMoment = (iso: string): string => moments.format(new Date(iso));
export const formatFully = (iso: string): string => fullMoments.format(new Date(iso));

const steps: [unit: Intl.RelativeTimeFormatUnit, seconds: number][] = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
];
const weekSeconds = 7 * 86_400;

/** "3 minutes ago", "in 2 hours"; a date where it is more than a week away. */
export function formatAgo(iso: string, now: Date): string {
  const seconds = (new Date(iso).getTime() - now.getTime()) / 1_000;
  if (Math.abs(seconds) > weekSeconds) return formatDay(iso);
  for (const [unit, length] of steps) {
    if (Math.abs(seconds) >= length) return relative.format(Math.round(seconds / length), unit);
  }
  return seconds > 10 ? 'in a moment' : 'just now';
}

const byteUnits = ['bytes', 'kB', 'MB', 'GB', 'TB'];

export function formatBytes(bytes: number): string {
  const power = bytes < 1_000 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), byteUnits.length - 1);
  const value = bytes / 1_000 ** power;
  const text = power === 0 || value >= 100 ? Math.round(value).toString() : value.toFixed(1).replace(/\.0$/, '');
  return `${text} ${byteUnits[power]}`;
}

/** The first moment of a day, as the reader's clock counts it, for the API. */
export function startOfDay(day: string): string {
  return new Date(`${day}T00:00:00`).toISOString();
}

/** The last moment of a day, as the reader's clock counts it, for the API. */
export function endOfDay(day: string): string {
  return new Date(`${day}T23:59:59.999`).toISOString();
}

/** "45 s", "3 min", "2 h 5 min". */
export function formatDuration(milliseconds: number): string {
  const seconds = Math.round(milliseconds / 1_000);
  if (seconds < 1) return 'under 1 s';
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours >= 48) return `${Math.round(hours / 24)} days`;
  return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
}
