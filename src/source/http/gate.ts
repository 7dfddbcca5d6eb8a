/** Lets so many callers pass at once; the others wait in the order in which they came. */
export interface Gate {
  /** Passes at once if nobody has to wait. The answer must be called once, when the caller is done. */
  tryEnter(): (() => void) | null;
  /** Throws the signal's reason when it aborts first. */
  enter(signal: AbortSignal): Promise<() => void>;
  /** Nobody is in it. */
  readonly empty: boolean;
}

export function createGate(limit: number): Gate {
  const waiting = new Set<() => void>();
  let inside = 0;

  function leave(): void {
    const [next] = waiting;
    if (!next) inside -= 1;
    else {
      waiting.delete(next);
      next();
    }
  }

  function tryEnter(): (() => void) | null {
    if (inside >= limit) return null;
    inside += 1;
    return leave;
  }

  return {
    tryEnter,
    get empty() {
      return inside === 0;
    },
    enter(signal) {
      signal.throwIfAborted();
      const entered = tryEnter();
      if (entered) return Promise.resolve(entered);
      return new Promise((resolve, reject) => {
        const enter = () => {
          signal.removeEventListener('abort', abort);
          resolve(leave);
        };
        const abort = () => {
          waiting.delete(enter);
          reject(signal.reason as Error);
        };
        waiting.add(enter);
        signal.addEventListener('abort', abort, { once: true });
      });
    },
  };
}
