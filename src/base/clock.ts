import { setTimeout as delay } from 'node:timers/promises';

/** Time as a dependency: the core never reads the machine's clock itself, so tests can move it. */
export interface Clock {
  now(): Date;
  /** Resolves after `ms` milliseconds, or at once (without error) when the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => new Date(),
  async sleep(ms, signal) {
    try {
      await delay(ms, undefined, signal ? { signal, ref: true } : undefined);
    } catch (error) {
      if (!signal?.aborted) throw error;
    }
  },
};
