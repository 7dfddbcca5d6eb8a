import type { TaskQueue } from '../queue/task-queue.ts';

export interface Waking {
  /** Wakes as many workers as `count` queued documents can keep busy. */
  documents(count: number): Promise<void>;
  connection(connectionId: string): Promise<void>;
  /** Asks workers to help with the run that is under way for a connection. */
  fetchers(connectionId: string): Promise<void>;
}

export interface WakingOptions {
  queue: TaskQueue;
  /** Drains that may run at once, over all processes. */
  slots: number;
  /** Documents that one drain claims at a time. */
  batchSize: number;
  /** Called with what went wrong when the queue is down; the sweep finds the work again. */
  lost(error: unknown): void;
}

/** Workers that help one run, besides the one that holds it. */
const fetchersPerRun = 3;

/** Turns "there is work" into tasks. A task that cannot be queued is not an error: the rows are the truth. */
export function createWaking({ queue, slots, batchSize, lost }: WakingOptions): Waking {
  return {
    async documents(count) {
      const wanted = Math.min(slots, Math.ceil(count / batchSize));
      const tasks = Array.from({ length: wanted }, (_, slot) =>
        queue.enqueue('process-documents', { slot }, { key: `slot-${slot}` }),
      );
      await Promise.all(tasks).catch(lost);
    },
    connection: (connectionId) => queue.enqueue('sync-connection', { connectionId }, { key: connectionId }).catch(lost),
    async fetchers(connectionId) {
      const tasks = Array.from({ length: fetchersPerRun }, (_, slot) =>
        queue.enqueue('fetch-items', { connectionId, slot }, { key: `${connectionId}-${slot}` }),
      );
      await Promise.all(tasks).catch(lost);
    },
  };
}
