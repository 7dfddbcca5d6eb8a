import { readlinkSync } from 'node:fs';
import { constants, getPriority, setPriority } from 'node:os';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Clock } from './clock.ts';
import { paired } from './collections.ts';

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
  return new QueuedGate(limit, burst);
}

class QueuedGate implements Gate {
  readonly #limit: number;
  readonly #burst: number;
  readonly #urgentCallers = new Set<() => void>();
  readonly #others = new Set<() => void>();
  #inside = 0;
  #inRow = 0;

  constructor(limit: number, burst: number) {
    this.#limit = limit;
    this.#burst = burst;
  }

  get empty(): boolean {
    return this.#inside === 0;
  }

  get waiting(): number {
    return this.#urgentCallers.size + this.#others.size;
  }

  tryEnter(): (() => void) | null {
    return this.#pass(true);
  }

  async enter({ urgent = true, signal }: Caller = {}): Promise<() => void> {
    signal?.throwIfAborted();
    return this.#pass(urgent) ?? this.#wait(urgent ? this.#urgentCallers : this.#others, signal);
  }

  async run<Result>(work: () => Promise<Result>, caller?: Caller): Promise<Result> {
    const leave = await this.enter(caller);
    try {
      return await work();
    } finally {
      leave();
    }
  }

  #pass(urgent: boolean): (() => void) | null {
    if (this.#inside >= this.#limit) return null;
    this.#inside += 1;
    this.#count(urgent);
    return this.#leave;
  }

  #count(urgent: boolean): void {
    this.#inRow = urgent ? this.#inRow + 1 : 0;
  }

  readonly #leave = (): void => {
    const isUrgent = this.#urgentCallers.size > 0 && (this.#others.size === 0 || this.#inRow < this.#burst);
    const waiting = isUrgent ? this.#urgentCallers : this.#others;
    const [next] = waiting;
    if (next) {
      waiting.delete(next);
      this.#count(isUrgent);
      next();
    } else {
      this.#inside -= 1;
      this.#inRow = 0;
    }
  };

  #wait(waiting: Set<() => void>, signal: AbortSignal | undefined): Promise<() => void> {
    return new Promise((resolve, reject) => {
      const begin = () => {
        signal?.removeEventListener('abort', abort);
        resolve(this.#leave);
      };
      const abort = () => {
        waiting.delete(begin);
        reject(signal?.reason as Error);
      };
      waiting.add(begin);
      signal?.addEventListener('abort', abort, { once: true });
    });
  }
}

/** Settles as the work does, or rejects with the signal's reason when it aborts first, even if the work goes on. */
export async function unlessAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  work.catch(() => {});
  const { promise, reject } = Promise.withResolvers<never>();
  const fail = () => reject(signal.reason as Error);
  if (signal.aborted) fail();
  signal.addEventListener('abort', fail, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', fail);
  }
}

/** To be awaited later; a failure until then is not one that nobody handles. */
export function caught<Value>(work: Promise<Value>): Promise<Value> {
  work.catch(() => {});
  return work;
}

interface GatheringOptions<Input, Result> {
  /** One result per input, in order, or a failure of all of them. */
  run(inputs: readonly Input[]): Promise<Result[]>;
  /** Whether a failure may be the fault of one input alone: then each is tried by itself. */
  isOfOne?(error: unknown): boolean;
  /** Inputs of one piece of work. */
  most: number;
}

interface Waiting<Input, Result> {
  input: Input;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/**
 * Makes one piece of work of what arrives while the one before is under way: a hundred small requests cost a
 * few transactions instead of a hundred. Nothing waits when nothing is under way. Order of arrival is kept.
 */
export function createGathering<Input, Result>(options: GatheringOptions<Input, Result>) {
  const waiting: Waiting<Input, Result>[] = [];
  let isRunning = false;

  async function runAll(): Promise<void> {
    isRunning = true;
    while (waiting.length > 0) await runSome(waiting.splice(0, options.most));
    isRunning = false;
  }

  async function runSome(some: Waiting<Input, Result>[]): Promise<void> {
    try {
      const results = await options.run(some.map(({ input }) => input));
      for (const [{ resolve }, result] of paired(some, results)) resolve(result);
    } catch (error) {
      if (some.length > 1 && options.isOfOne?.(error)) for (const one of some) await runSome([one]);
      else for (const { reject } of some) reject(error);
    }
  }

  return function add(input: Input): Promise<Result> {
    return new Promise((resolve, reject) => {
      waiting.push({ input, resolve, reject });
      if (!isRunning) void runAll();
    });
  };
}

const lookEveryMs = 2_000;
/** Shares of the time between two looks that the thread's loop was busy. */
const workShare = 0.2;
const restShare = 0.05;
const looksAtRest = 2;
/** Collecting a larger heap would hold the thread for longer than a request should wait. */
const largestHeapBytes = 128 * 2 ** 20;

/**
 * Gives back what a thread's work has left in memory, once whenever the thread rests after it. V8 looks for garbage
 * only when it is asked for memory, so what a start or a sync leaves would stay for as long as nothing happens.
 */
export function collectAtRest(everyMs = lookEveryMs): void {
  let [hasWorked, restingLooks] = [true, 0];
  let seen = performance.eventLoopUtilization();
  const look = () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, seen);
    seen = now;
    if (utilization > workShare) hasWorked = true;
    restingLooks = utilization < restShare ? restingLooks + 1 : 0;
    if (!hasWorked || restingLooks < looksAtRest) return;
    hasWorked = false;
    if (getHeapStatistics().total_heap_size <= largestHeapBytes) collect();
    seen = performance.eventLoopUtilization();
  };
  setInterval(look, everyMs).unref();
}

/** The function exists only where V8 is told so. */
function collect(): void {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as (options: { type: 'major'; flavor: 'last-resort' }) => void;
  collectGarbage({ type: 'major', flavor: 'last-resort' });
}

/** More than the process has, of 19. On a core that another thread wants as well, a tenth of it is left. */
const niceness = 10;

/**
 * Lets the threads that answer requests go before this one where cores are few. Only Linux has a niceness for each
 * thread (setpriority(2), "C library/kernel differences"); elsewhere it would be that of the whole process.
 */
export function stepBack(): void {
  if (process.platform !== 'linux') return;
  try {
    const [thread] = readlinkSync('/proc/thread-self').split('/').slice(-1);
    setPriority(Number(thread), Math.min(getPriority(process.pid) + niceness, constants.priority.PRIORITY_LOW));
  } catch {
    // Without /proc this thread competes with the requests; it does the same work.
  }
}

/** Does some work, and renews what it needs meanwhile, again and again. `renew` throws nothing. */
export async function whileRenewing<Result>(
  { clock, everyMs, renew }: { clock: Clock; everyMs: number; renew: () => Promise<unknown> },
  work: () => Promise<Result>,
): Promise<Result> {
  const done = new AbortController();
  const renewal = (async () => {
    for (;;) {
      await clock.sleep(everyMs, done.signal);
      if (done.signal.aborted) return;
      await renew();
    }
  })();
  try {
    return await work();
  } finally {
    done.abort();
    await renewal;
  }
}
