/** Lets so many callers pass at once. The others wait: urgent ones in front, each kind in the order in which they came. */
export interface Gate {
  /** Passes at once if nobody has to wait. The answer must be called once, when the caller is done. */
  tryEnter(): (() => void) | null;
  /** Rejects with the signal's reason when it aborts first. */
  enter(caller?: Caller): Promise<() => void>;
  /** Enters, works, and leaves. */
  run<Result>(work: () => Promise<Result>, caller?: Caller): Promise<Result>;
  /** Nobody is in it. */
  readonly empty: boolean;
  /** How many callers wait. */
  readonly waiting: number;
}

interface Caller {
  /** Default: true. */
  urgent?: boolean;
  signal?: AbortSignal | undefined;
}

/** `burst`: after so many urgent callers in a row one of the others passes, so that they do not wait for ever. */
export function createGate(limit: number, { burst = Infinity }: { burst?: number } = {}): Gate {
  const urgentCallers = new Set<() => void>();
  const others = new Set<() => void>();
  let inside = 0;
  let inRow = 0;

  function count(urgent: boolean): void {
    inRow = urgent ? inRow + 1 : 0;
  }

  function leave(): void {
    const isUrgent = urgentCallers.size > 0 && (others.size === 0 || inRow < burst);
    const waiting = isUrgent ? urgentCallers : others;
    const [next] = waiting;
    if (next) {
      waiting.delete(next);
      count(isUrgent);
      next();
    } else {
      inside -= 1;
      inRow = 0;
    }
  }

  function pass(urgent: boolean): (() => void) | null {
    if (inside >= limit) return null;
    inside += 1;
    count(urgent);
    return leave;
  }

  async function enter({ urgent = true, signal }: Caller = {}): Promise<() => void> {
    signal?.throwIfAborted();
    return pass(urgent) ?? wait(urgent ? urgentCallers : others, signal);
  }

  function wait(waiting: Set<() => void>, signal: AbortSignal | undefined): Promise<() => void> {
    return new Promise((resolve, reject) => {
      const begin = () => {
        signal?.removeEventListener('abort', abort);
        resolve(leave);
      };
      const abort = () => {
        waiting.delete(begin);
        reject(signal?.reason as Error);
      };
      waiting.add(begin);
      signal?.addEventListener('abort', abort, { once: true });
    });
  }

  return {
    enter,
    tryEnter: () => pass(true),
    async run(work, caller) {
      const done = await enter(caller);
      try {
        return await work();
      } finally {
        done();
      }
    },
    get empty() {
      return inside === 0;
    },
    get waiting() {
      return urgentCallers.size + others.size;
    },
  };
}
