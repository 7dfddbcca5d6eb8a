import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../base/clock.ts';

export interface KitClock extends Clock {
  /** Moves the time on; sleepers whose time has come wake up. */
  advance(ms: number): void;
  /**
   * Waits for some work while time passes: whenever nothing else is under way, it jumps to the moment
   * at which the next sleeper wakes.
   */
  during<Value>(work: Promise<Value>): Promise<Value>;
}

/** Real time between two looks at whether anything is under way. */
const lookEveryMs = 2;
/** Looks in a row that find nothing under way, before time jumps. */
const quietLooks = 3;

/** A clock that stands still while `isBusy`, so that nothing in a test depends on how fast the machine is. */
export function createKitClock(isBusy: () => boolean): KitClock {
  let time = Date.parse('2026-03-01T09:00:00.000Z');
  const sleepers = new Set<{ until: number; wake: () => void }>();

  function advance(ms: number): void {
    time += ms;
    for (const sleeper of sleepers) {
      if (sleeper.until > time) continue;
      sleepers.delete(sleeper);
      sleeper.wake();
    }
  }

  function jump(): void {
    const next = Math.min(...[...sleepers].map((sleeper) => sleeper.until));
    if (Number.isFinite(next)) advance(Math.max(0, next - time));
  }

  return {
    now: () => new Date(time),
    sleep(ms, signal) {
      return new Promise((resolve) => {
        if (signal?.aborted || ms <= 0) return resolve();
        const sleeper = { until: time + ms, wake: resolve };
        sleepers.add(sleeper);
        signal?.addEventListener('abort', () => {
          sleepers.delete(sleeper);
          resolve();
        });
      });
    },
    advance,
    async during(work) {
      let ended = false;
      const end = () => void (ended = true);
      work.then(end, end);
      for (let quiet = 0; !ended; await delay(lookEveryMs)) {
        quiet = isBusy() ? 0 : quiet + 1;
        if (quiet >= quietLooks) jump();
      }
      return work;
    },
  };
}
