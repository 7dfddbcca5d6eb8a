import type { Extracted, Source } from './extracted.ts';
import { closedError, createReader, type Reader, type ReaderOptions } from './reader.ts';

export interface PoolOptions extends ReaderOptions {
  /** Documents that are read at a time. */
  threads: number;
}

/** Worker threads that read documents, so that neither a slow nor a hostile one can stop the daemon. */
export interface Pool {
  /** As `Reader.read`, after waiting for a free thread. */
  run(source: Source, signal?: AbortSignal): Promise<Extracted>;
  /** Ends the threads. Documents that wait or are being read fail with `unavailable`. */
  close(): Promise<void>;
}

interface Waiting {
  start(): void;
  reject(error: unknown): void;
}

const idleMs = 30_000;

export function createPool(options: PoolOptions): Pool {
  const waiting: Waiting[] = [];
  const idle: Reader[] = [];
  const readers = new Set<Reader>();
  let running = 0;
  let closed = false;

  const slot = (signal?: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      const entry = { start: () => take(resolve), reject };
      if (running < options.threads) return entry.start();
      waiting.push(entry);
      const leave = () => {
        const index = waiting.indexOf(entry);
        if (index >= 0) waiting.splice(index, 1);
        reject(signal?.reason as Error);
      };
      signal?.addEventListener('abort', leave, { once: true });
    });
  const take = (resolve: () => void) => {
    running += 1;
    resolve();
  };
  const open = () => {
    if (closed) throw closedError();
    let reader = idle.pop();
    // A thread can end while it has nothing to do.
    while (reader && !reader.alive) reader = idle.pop();
    reader ??= createReader(options);
    readers.add(reader);
    return reader;
  };
  const release = (reader: Reader | undefined) => {
    running -= 1;
    if (reader && !reader.alive) readers.delete(reader);
    else if (reader && !closed) rest(reader);
    waiting.shift()?.start();
  };
  /** An idle thread is kept for the next document for a while. */
  const rest = (reader: Reader) => {
    idle.push(reader);
    const leave = () => {
      const index = idle.indexOf(reader);
      if (index < 0) return;
      idle.splice(index, 1);
      readers.delete(reader);
      void reader.close();
    };
    setTimeout(leave, idleMs).unref();
  };

  return {
    async run(source, signal) {
      if (closed) throw closedError();
      signal?.throwIfAborted();
      await slot(signal);
      let reader: Reader | undefined;
      try {
        reader = open();
        return await reader.read(source, signal);
      } finally {
        release(reader);
      }
    },
    async close() {
      closed = true;
      for (const entry of waiting.splice(0)) entry.reject(closedError());
      await Promise.all([...readers].map((reader) => reader.close()));
      idle.length = 0;
    },
  };
}
