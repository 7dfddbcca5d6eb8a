import { findDates } from '../memory/rules/dates.ts';
import type { Period } from '../store/search/search-plan.ts';

/** First and last month, 1 to 12; northern. */
const seasons: Record<string, readonly [number, number]> = {
  spring: [3, 5],
  summer: [6, 8],
  autumn: [9, 11],
  fall: [9, 11],
  winter: [12, 2],
};
const season =
  /\b(?:in|last|this|during) (?:the )?(?:early |late )?(spring|summer|autumn|fall|winter)(?: of)?(?: (\d{4}))?\b/i;
const monthName = /\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)/i;
const oneYear = /\b(?:\d{4}|last|next|this|ago)\b/i;

/** The periods of time that a query names, e.g. `in May`, `last week`, `on 3 June 2024` or `in spring`. English. */
export function periodsOf(query: string, now: Date): Period[] {
  const dates = findDates(query, now).map(({ words, iso, end, relative }): Period => {
    const from = startOf(iso);
    return { from, to: end, isEachYear: relative && monthName.test(words) && !oneYear.test(words) };
  });
  const named = season.exec(query);
  return named ? [...dates, seasonOf(named[1]!.toLowerCase(), named[2], now)] : dates;
}

function startOf(iso: string): Date {
  const [year, month = 1, day = 1] = iso.split('-').map(Number) as [number, number?, number?];
  return new Date(Date.UTC(year, month - 1, day));
}

function seasonOf(name: string, year: string | undefined, now: Date): Period {
  const [first, last] = seasons[name]!;
  const begins = year === undefined ? now.getUTCFullYear() : Number(year);
  const ends = last < first ? begins + 1 : begins;
  return {
    from: new Date(Date.UTC(begins, first - 1)),
    to: new Date(Date.UTC(ends, last)),
    isEachYear: year === undefined,
  };
}
