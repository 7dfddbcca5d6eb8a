/** Days as the reader's calendar counts them, as `2026-11-24`. */

const msPerDay = 86_400_000;

export function dayOf(date: Date): string {
  const two = (part: number) => String(part).padStart(2, '0');
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

// In UTC every day has 24 hours.
const numberOf = (day: string) => Date.parse(`${day}T00:00:00Z`) / msPerDay;

export const daysBetween = (from: string, to: string): number => numberOf(to) - numberOf(from);

export const daysAfter = (day: string, count: number): string =>
  new Date((numberOf(day) + count) * msPerDay).toISOString().slice(0, 10);
