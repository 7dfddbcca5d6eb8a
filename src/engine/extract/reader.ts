import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { MemorydError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { failed } from './detect.ts';
import type { Extracted, Source } from './extracted.ts';
import type { Answer } from './worker.ts';

export interface ReaderOptions {
  /** A document that takes longer fails. */
  timeoutMs: number;
  /** A document that needs more memory fails. */
  maxMemoryMb: number;
  log: Logger;
}

/** One worker thread, which reads one document at a time. */
export interface Reader {
  /** False once the thread was ended; make another one then. */
  readonly alive: boolean;
  /**
   * Throws what reading the document throws, `extract_failed` when it takes too long or too much
   * memory, and the signal's reason when it aborts. The latter three end the thread.
   */
  read(source: Source, signal?: AbortSignal): Promise<Extracted>;
  /** Ends the thread. A document that is being read fails with `unavailable`. */
  close(): Promise<void>;
}

interface Current {
  resolve(extracted: Extracted): void;
  reject(error: unknown): void;
}

const memoryCheckMs = 100;
/**
 * How far above a document's limit V8's own lies. V8 ends the whole process, not the thread, when one
 * allocation passes its limit by more than 16 MiB, so the watch below has to come first.
 */
const heapReserveMb = 2_048;
// The build turns this file and the worker into JavaScript together.
const workerUrl = new URL(`./worker${extname(import.meta.url)}`, import.meta.url);

export function createReader(options: ReaderOptions): Reader {
  const worker = createWorker(options.maxMemoryMb);
  let current: Current | null = null;
  let alive = true;
  const end = (error: unknown) => {
    alive = false;
    current?.reject(error);
    current = null;
    void worker.terminate();
  };
  worker.on('message', (answer: Answer) => {
    if ('extracted' in answer) current?.resolve(answer.extracted);
    else current?.reject(toError(answer.failure));
    current = null;
  });
  worker.on('error', (error) => end(toCrash(error, options)));
  worker.on('exit', () => end(failed('The thread that read the document ended unexpectedly.')));
  return {
    get alive() {
      return alive;
    },
    async read(source, signal) {
      signal?.throwIfAborted();
      worker.ref();
      const unwatch = watch(worker, options, end, signal);
      try {
        return await new Promise((resolve, reject) => {
          current = { resolve, reject };
          send(worker, source);
        });
      } finally {
        unwatch();
        worker.unref();
      }
    },
    async close() {
      end(closedError());
      await worker.terminate();
    },
  };
}

export function closedError(): MemorydError {
  return new MemorydError('unavailable', 'The daemon is shutting down; the document was not read.');
}

function createWorker(maxMemoryMb: number): Worker {
  const worker = new Worker(workerUrl, {
    resourceLimits: { maxOldGenerationSizeMb: maxMemoryMb + heapReserveMb },
    execArgv: [],
    // Parsers print warnings, which must not reach the daemon's own output.
    stdout: true,
    stderr: true,
  });
  worker.stdout.resume();
  worker.stderr.resume();
  return worker;
}

/** Sends a copy of the bytes: the sender keeps its own, and a view of a large buffer does not drag that along. */
function send(worker: Worker, source: Source): void {
  if (!source.bytes) return worker.postMessage(source);
  const bytes = new Uint8Array(source.bytes);
  worker.postMessage({ ...source, bytes }, [bytes.buffer]);
}

/** Ends the thread when time or memory runs out, or the signal aborts. Returns what ends the watching. */
function watch(
  worker: Worker,
  options: ReaderOptions,
  end: (error: unknown) => void,
  signal: AbortSignal | undefined,
): () => void {
  const onAbort = () => end(signal?.reason);
  const timer = setTimeout(() => {
    options.log.warn({ timeoutMs: options.timeoutMs }, 'reading a document took too long');
    end(failed(`Reading the document took longer than ${Math.ceil(options.timeoutMs / 1000)} seconds.`));
  }, options.timeoutMs);
  const memory = setInterval(() => {
    const check = (usedMb: number) => usedMb > options.maxMemoryMb && end(outOfMemory(options));
    // Fails when the thread has just ended, which its own events report.
    usedMemoryMb(worker).then(check, () => undefined);
  }, memoryCheckMs);
  signal?.addEventListener('abort', onAbort, { once: true });
  return () => {
    clearTimeout(timer);
    clearInterval(memory);
    signal?.removeEventListener('abort', onAbort);
  };
}

/** Its heap and, outside of that, the buffers into which parsers unpack. */
async function usedMemoryMb(worker: Worker): Promise<number> {
  const { used_heap_size: heap, external_memory: buffers } = await worker.getHeapStatistics();
  return (heap + buffers) / 1024 / 1024;
}

function outOfMemory({ maxMemoryMb, log }: ReaderOptions): MemorydError {
  log.warn({ maxMemoryMb }, 'reading a document took too much memory');
  return failed(`Reading the document took more than ${maxMemoryMb} MiB of memory.`);
}

function toCrash(error: unknown, options: ReaderOptions): MemorydError {
  const isMemory = error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
  return isMemory ? outOfMemory(options) : failed('The thread that read the document ended unexpectedly.', error);
}

function toError(failure: Extract<Answer, { failure: unknown }>['failure']): MemorydError {
  return new MemorydError(failure.code, failure.message, {
    shouldRetry: false,
    ...(failure.cause === undefined ? {} : { cause: new Error(failure.cause) }),
  });
}
