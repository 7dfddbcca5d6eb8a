/** Time as a dependency: the core never reads the machine's clock itself, so tests can move it. */
export interface Clock {
  now(): Date;
  /** Resolves after `ms` milliseconds, at once when they are over, and (without error) when the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => new Date(),
  sleep(ms, signal) {
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const wake = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', wake);
        resolve();
      };
      // A negative time makes Node print a warning.
      const timer = setTimeout(wake, Math.max(0, ms));
      // The timers of `node:timers/promises` end with an error, whose stack costs more than the rest of a short pause.
      signal?.addEventListener('abort', wake);
    });
  },
};
