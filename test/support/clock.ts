import type { Clock } from '../../src/base/clock.ts';

export interface TestClock extends Clock {
  /** Moves the time on; sleepers whose time has come wake up. */
  advance(ms: number): void;
  /** How many sleep at this moment. */
  sleeping(): number;
}

/** A clock that moves only when a test says so. */
export function createTestClock(start = '2026-03-01T09:00:00.000Z'): TestClock {
  let time = Date.parse(start);
  const sleepers = new Set<{ until: number; wake: () => void }>();
  return {
    now: () => new Date(time),
    sleeping: () => sleepers.size,
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
    advance(ms) {
      time += ms;
      for (const sleeper of sleepers) {
        if (sleeper.until > time) continue;
        sleepers.delete(sleeper);
        sleeper.wake();
      }
    },
  };
}
