import type { CallKind } from '../worker/call-queue.ts';

/** Bounds how many requests run at once; those for queries start before those for documents. */
export interface RequestSlots {
  /** Waits for a slot, runs, gives it back. Rejects with the signal's reason when that aborts while waiting. */
  run<Result>(kind: CallKind, work: () => Promise<Result>, signal?: AbortSignal): Promise<Result>;
}

export function createRequestSlots(maxConcurrent: number): RequestSlots {
  const waiting: Record<CallKind, (() => void)[]> = { query: [], document: [] };
  let free = maxConcurrent;

  function release(): void {
    const next = waiting.query.shift() ?? waiting.document.shift();
    if (next) next();
    else free++;
  }

  function acquire(kind: CallKind, signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    if (free > 0) {
      free--;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const lane = waiting[kind];
      const start = (): void => {
        signal?.removeEventListener('abort', abort);
        resolve();
      };
      const abort = (): void => {
        lane.splice(lane.indexOf(start), 1);
        reject(signal?.reason as Error);
      };
      signal?.addEventListener('abort', abort, { once: true });
      lane.push(start);
    });
  }

  return {
    async run(kind, work, signal) {
      await acquire(kind, signal);
      try {
        return await work();
      } finally {
        release();
      }
    },
  };
}
