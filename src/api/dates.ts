import { invalidField } from './validation.ts';

/**
 * The moment that a text of ISO 8601 names; null for one that does not exist or lies outside of the years
 * 1 to 9999. Times without a zone are UTC, so that the answer does not depend on where the daemon runs.
 */
export function momentOf(text: string): Date | null {
  const hasZone = text.length <= 10 || /(?:z|[+-]\d{2}:?\d{2})$/i.test(text);
  const date = new Date(Date.parse(hasZone ? text : `${text}Z`));
  const year = date.getUTCFullYear();
  return year >= 1 && year <= 9999 && hasItsDay(text) ? date : null;
}

/** False for 30 February, which becomes a day of March. */
function hasItsDay(text: string): boolean {
  const day = text.slice(8, 10);
  const date = new Date(Date.parse(text.slice(0, 10)));
  return day === '' || (!Number.isNaN(date.getTime()) && day === date.toISOString().slice(8, 10));
}

/** The time of a question about the past. Throws `validation_failed` for one that does not exist. */
export function pastTime(asOf: string | undefined): { asOf?: Date } {
  if (asOf === undefined) return {};
  const moment = momentOf(asOf);
  if (moment === null) throw invalidField(['asOf'], 'asOf must be a time that exists');
  return { asOf: moment };
}
