import { valueOf } from './collections.ts';

const unitsMs = new Map([
  ['s', 1_000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
]);

/** Milliseconds of pauses such as `5m`. */
export function pausesMsOf(pauses: readonly string[]): number[] {
  return pauses.map((pause) => Number(pause.slice(0, -1)) * valueOf(unitsMs, pause.slice(-1)));
}

/** Pauses before what failed is tried again, where the configuration says nothing else (section 7.3 of the API). */
export const standardRedrives = ['1m', '5m', '30m', '2h', '12h'];
