import type { TouchListener } from './watch-tree.ts';

/** Paths that were touched since the last batch. */
export interface TouchBatch {
  paths: ReadonlySet<string>;
  /** So much happened that some of it may have been dropped, here or by the system. */
  isOverflowing: boolean;
}

export interface Touches extends TouchListener {
  /** Resolves when something was touched or the signal aborts. Throws what `failed` was given. */
  next(signal: AbortSignal): Promise<void>;
  take(): TouchBatch;
}

/**
 * Linux queues 16,384 events and then drops without a word that Node passes on. A quarter of that
 * between two batches is taken as the sign that it may have happened.
 */
const touchesPerBatch = 4_096;

export function gatherTouches(): Touches {
  let paths = new Set<string>();
  let count = 0;
  let isUnknown = false;
  let failure: { error: unknown } | undefined;
  let wake: (() => void) | undefined;

  return {
    touched(path) {
      count++;
      if (path === undefined) isUnknown = true;
      else if (count < touchesPerBatch) paths.add(path);
      wake?.();
    },
    failed(error) {
      failure ??= { error };
      wake?.();
    },
    async next(signal) {
      await new Promise<void>((resolve) => {
        wake = () => {
          signal.removeEventListener('abort', wake!);
          wake = undefined;
          resolve();
        };
        signal.addEventListener('abort', wake);
        if (count > 0 || failure !== undefined || signal.aborted) wake();
      });
      if (failure !== undefined) throw failure.error;
    },
    take() {
      const batch = { paths, isOverflowing: isUnknown || count >= touchesPerBatch };
      paths = new Set();
      count = 0;
      isUnknown = false;
      return batch;
    },
  };
}
