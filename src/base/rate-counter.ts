import type { Clock } from './clock.ts';

/** Counts what happens in windows of time, which begin with the first that is counted. */
export interface RateCounter {
  /** Counts one more. */
  count(name: string, windowMs: number): Promise<RateWindow>;
  close(): Promise<void>;
}

export interface RateWindow {
  /** How many there have been, this one included. */
  count: number;
  endsAtMs: number;
}

const maxWindows = 10_000;

/** For one process. */
export function createRateCounter(clock: Clock): RateCounter {
  const windows = new Map<string, RateWindow>();

  /** The oldest are forgotten, ended or not. */
  function makeRoom(): void {
    for (const name of windows.keys()) {
      if (windows.size <= maxWindows) return;
      windows.delete(name);
    }
  }

  return {
    async count(name, windowMs) {
      const nowMs = clock.now().getTime();
      const current = windows.get(name);
      if (current && nowMs < current.endsAtMs) {
        current.count += 1;
        return current;
      }
      const opened = { count: 1, endsAtMs: nowMs + windowMs };
      windows.delete(name);
      windows.set(name, opened);
      makeRoom();
      return opened;
    },
    close: async () => {},
  };
}
