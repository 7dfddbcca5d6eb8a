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
