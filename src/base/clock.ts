import { setTimeout as delay } from 'node:timers/promises';

/** Time as a dependency: the core never reads the machine's clock itself, so tests can move it. */
export interface Clock {
  now(): Date;
  /** Resolves after `ms` milliseconds, at once when they are over, and (without error) when the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => new Date(),
  async sleep(ms, signal) {
    try {
      // A negative time makes Node print a warning.
      await delay(Math.max(0, ms), undefined, signal ? { signal, ref: true } : undefined);
    } catch (error) {
      if (!signal?.aborted) throw error;
    }
  },
};
