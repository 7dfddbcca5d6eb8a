import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { ThreadAnswer, Message, Question } from './text-worker.ts';

/** A question with the buffers in it that are moved to the thread instead of copied. */
export interface ThreadCall extends Question {
  moved: readonly ArrayBuffer[];
}

/** One worker thread, which works on one batch of calls at a time. */
export interface TextThread {
  /** False once the thread was ended; make another one then. */
  readonly alive: boolean;
  /** When it can work. Rejects as `run`. */
  readonly ready: Promise<void>;
  /** Answers in the order of the calls. Rejects with what `end` was given, or with `ThreadEnded`. */
  run(calls: readonly ThreadCall[]): Promise<ThreadAnswer[]>;
  /** Its heap and, outside of that, the buffers into which parsers unpack. Rejects when the thread has ended. */
  memory(): Promise<{ usedMb: number; /** With what is free in its heap. */ heldMb: number }>;
  /** Ends the thread; what it works on is rejected with the reason. */
  end(reason: unknown): Promise<void>;
}

/** The thread is gone without having been told to end. */
export class ThreadEnded extends Error {
  readonly outOfMemory: boolean;
  constructor(cause: unknown) {
    super('The thread ended unexpectedly.', { cause });
    this.outOfMemory = cause instanceof Error && 'code' in cause && cause.code === 'ERR_WORKER_OUT_OF_MEMORY';
  }
}

/**
 * How far above the limit of a batch V8's own lies. V8 ends the whole process, not the thread, when one
 * allocation passes its limit by more than 16 MiB, so whoever watches `memory` has to come first.
 */
const heapReserveMb = 1_536;
/** V8's own is 48 and more, of which each thread fills all before it looks what is still needed. */
const maxYoungMb = 16;
const mebibyte = 1024 * 1024;
// The build turns this file and the worker into JavaScript together.
const workerUrl = new URL(`./text-worker${extname(import.meta.url)}`, import.meta.url);

export function createTextThread(maxMemoryMb: number): TextThread {
  const worker = openWorker(maxMemoryMb);
  let current: { resolve(answers: ThreadAnswer[]): void; reject(error: unknown): void } | null = null;
  let alive = true;
  const loading = Promise.withResolvers<void>();
  loading.promise.catch(() => {});
  const end = async (reason: unknown) => {
    alive = false;
    current?.reject(reason);
    current = null;
    loading.reject(reason);
    await worker.terminate();
  };
  worker.on('message', (message: Message) => {
    if (message === 'ready') return loading.resolve();
    // Under `node --watch` Node sends messages of its own the same way (nodejs/node#65044).
    if (!Array.isArray(message)) return;
    current?.resolve(message);
    current = null;
  });
  worker.on('error', (error) => void end(new ThreadEnded(error)));
  worker.on('exit', () => void end(new ThreadEnded(undefined)));
  return {
    get alive() {
      return alive;
    },
    ready: loading.promise,
    async run(calls) {
      worker.ref();
      try {
        return await new Promise((resolve, reject) => {
          current = { resolve, reject };
          const questions = calls.map(({ task, input }): Question => ({ task, input }));
          worker.postMessage(
            questions,
            calls.flatMap(({ moved }) => moved),
          );
        });
      } finally {
        worker.unref();
      }
    },
    async memory() {
      const {
        used_heap_size: used,
        total_heap_size: held,
        external_memory: buffers,
      } = await worker.getHeapStatistics();
      return { usedMb: (used + buffers) / mebibyte, heldMb: (held + buffers) / mebibyte };
    },
    end,
  };
}

function openWorker(maxMemoryMb: number): Worker {
  const worker = new Worker(workerUrl, {
    resourceLimits: { maxOldGenerationSizeMb: maxMemoryMb + heapReserveMb, maxYoungGenerationSizeMb: maxYoungMb },
    execArgv: [],
    // Parsers print warnings, which must not reach the daemon's own output.
    stdout: true,
    stderr: true,
  });
  worker.stdout.resume();
  worker.stderr.resume();
  return worker;
}

/** The fields of a piece of work that `Batches` read. */
export interface Sized {
  readonly container: string;
  /** Characters or bytes of content. */
  readonly size: number;
  /** It showed itself to be large, whatever its size. */
  readonly isSlow: boolean;
  /** Not to be put together with others, which would suffer with it. */
  readonly isAlone: boolean;
}

/**
 * Gives waiting work out so that none waits for something larger: small before large, one container after the other,
 * and never large work on all threads. Small work goes out in batches, since a message between threads
 * costs as much as the work on a short text.
 */
export interface Batches<Job extends Sized> {
  /** Something small waits. */
  readonly smallWaits: boolean;
  isLarge(job: Job): boolean;
  add(job: Job): void;
  remove(job: Job): void;
  /** The next jobs; undefined when none may start now. Call `ended` afterwards. */
  next(): Job[] | undefined;
  ended(batch: readonly Job[]): void;
  /** Everything that waits; nothing waits afterwards. */
  clear(): Job[];
}

/** Content from which on work on it counts as large, in bytes or characters. */
export const largeFrom = 256 * 1024;
const batchSize = 64 * 1024;
const batchJobs = 16;

export function createBatches<Job extends Sized>({ maxLarge }: { maxLarge: number }): Batches<Job> {
  const small = createRoundRobin<Job>();
  const large = createRoundRobin<Job>();
  const underWay = new Set<Job>();
  let smallWasLast = false;

  const isLarge = (job: Job) => job.isSlow || job.size >= largeFrom;
  const turnsOf = (job: Job) => (isLarge(job) ? large : small);

  function nextLarge(): Job[] | undefined {
    if (underWay.size >= maxLarge) return undefined;
    const job = large.take();
    if (!job) return undefined;
    smallWasLast = false;
    underWay.add(job);
    return [job];
  }

  function nextSmall(): Job[] | undefined {
    const first = small.take();
    if (!first) return undefined;
    smallWasLast = true;
    const batch = [first];
    let room = batchSize - first.size;
    while (!first.isAlone && batch.length < batchJobs) {
      const job = small.take((one) => one.size <= room && !one.isAlone);
      if (!job) break;
      room -= job.size;
      batch.push(job);
    }
    return batch;
  }

  return {
    get smallWaits() {
      return small.size > 0;
    },
    isLarge,
    add: (job) => turnsOf(job).add(job.container, job),
    remove: (job) => turnsOf(job).remove(job.container, job),
    // Alternately when both wait, so that a stream of small ones does not keep the large waiting for ever.
    next: () => (smallWasLast ? (nextLarge() ?? nextSmall()) : (nextSmall() ?? nextLarge())),
    ended(batch) {
      for (const job of batch) underWay.delete(job);
    },
    clear: () => [...small.clear(), ...large.clear()],
  };
}

/** Waiting items, given out one of each container, and round again. */
interface RoundRobin<Item> {
  readonly size: number;
  add(container: string, item: Item): void;
  /** The first item of the container that is next, unless `fits` refuses it. */
  take(fits?: (item: Item) => boolean): Item | undefined;
  remove(container: string, item: Item): void;
  /** Everything that waits; nothing waits afterwards. */
  clear(): Item[];
}

function createRoundRobin<Item>(): RoundRobin<Item> {
  // A map keeps its keys in the order in which they were added: the container that is next comes first.
  const containers = new Map<string, Set<Item>>();
  let size = 0;

  function drop(container: string, items: Set<Item>, item: Item): void {
    if (!items.delete(item)) return;
    size -= 1;
    if (items.size === 0) containers.delete(container);
  }

  return {
    get size() {
      return size;
    },
    add(container, item) {
      const items = containers.get(container) ?? new Set();
      containers.set(container, items.add(item));
      size += 1;
    },
    take(fits = () => true) {
      for (const [container, items] of containers) {
        const [item] = items as Set<Item> & Iterable<Item>;
        if (item === undefined || !fits(item)) return undefined;
        drop(container, items, item);
        if (items.size > 0) {
          containers.delete(container);
          containers.set(container, items);
        }
        return item;
      }
      return undefined;
    },
    remove(container, item) {
      const items = containers.get(container);
      if (items) drop(container, items, item);
    },
    clear() {
      const waiting = [...containers.values()].flatMap((items) => [...items]);
      containers.clear();
      size = 0;
      return waiting;
    },
  };
}
