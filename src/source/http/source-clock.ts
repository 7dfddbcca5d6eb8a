import type { Clock } from '../../base/clock.ts';
import { readHttpDate } from '../../base/retry-after.ts';

const samples = 15;
/** `Date` headers are whole seconds, cut off. */
const halfSecondMs = 500;

/** How far the source's clock is from ours, by the `Date` headers of its answers: the median of the last ones. */
export interface SourceClock {
  heard(date: string | undefined, sentAt: number, receivedAt: number): void;
  now(): Date;
}

export function createSourceClock(clock: Clock): SourceClock {
  const offsets: number[] = [];
  let medianMs = 0;
  let lastDate: string | undefined;
  return {
    heard(date, sentAt, receivedAt) {
      // Many answers come within a second; one sample of each is enough.
      if (date === lastDate) return;
      lastDate = date;
      const time = readHttpDate(date);
      if (time === null) return;
      offsets.push(time + halfSecondMs - (sentAt + receivedAt) / 2);
      if (offsets.length > samples) offsets.shift();
      medianMs = offsets.toSorted((left, right) => left - right)[Math.floor(offsets.length / 2)]!;
    },
    now: () => new Date(clock.now().getTime() + medianMs),
  };
}
