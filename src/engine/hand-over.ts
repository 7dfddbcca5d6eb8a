import { randomUUID } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { lastOf } from '../base/collections.ts';
import { createGate } from '../base/concurrency.ts';
import type { Logger } from '../base/log.ts';
import type { TaskQueue } from '../queue/task-queue.ts';
import type { NewLease } from '../store/documents.ts';
import type { ClaimedDocument } from '../store/processing.ts';
import type { Processor } from './process.ts';

/**
 * Gives documents that this process has just stored to this process's own workers, who then need
 * neither claim them nor read their content again. When it is busy, or when the process dies,
 * they are found in the database like any others.
 */
export interface HandOver {
  /** A lease to store new documents under; null when the workers have enough to do. */
  reserve(): NewLease | null;
  /** Documents that were stored under the lease, after their transaction. */
  accept(lease: NewLease, documents: readonly ClaimedDocument[]): void;
  /** Gives back what is not finished. */
  close(): Promise<void>;
}

export interface HandOverOptions {
  processor: Processor;
  clock: Clock;
  log: Logger;
  /** Batches that are worked on at once. */
  concurrency: number;
  /** Documents in a batch, fewer when they are large. Default 64. */
  batchSize?: number;
}

const leaseMs = 15_000;
/** Many small documents are written together, large ones are not kept waiting for each other. */
const batchCharacters = 256 * 1024;

export function createHandOver(options: HandOverOptions): HandOver {
  const stop = new AbortController();
  const running = new Set<Promise<void>>();
  const gate = createGate(options.concurrency);

  async function work(lease: NewLease, documents: ClaimedDocument[]): Promise<void> {
    const entered = gate.enter();
    const { prompt, done } = options.processor.process(lease.token, documents, stop.signal, entered);
    void Promise.all([entered, prompt]).then(([leave]) => leave());
    try {
      await done;
    } catch (error) {
      options.log.error(
        { err: error },
        'documents not processed, another worker takes them when their lease has ended',
      );
    }
  }

  return {
    reserve() {
      if (stop.signal.aborted || gate.waiting >= options.concurrency * 2) return null;
      return { token: randomUUID(), until: new Date(options.clock.now().getTime() + leaseMs) };
    },
    accept(lease, documents) {
      for (const batch of toBatches(documents, options.batchSize ?? 64)) {
        const done = work(lease, batch);
        running.add(done);
        void done.finally(() => running.delete(done));
      }
    },
    async close() {
      stop.abort();
      await Promise.all(running);
    },
  };
}

function toBatches(documents: readonly ClaimedDocument[], maxDocuments: number): ClaimedDocument[][] {
  const batches: ClaimedDocument[][] = [];
  let characters = Infinity;
  for (const document of documents) {
    const size = document.raw?.length ?? document.bytes?.length ?? 0;
    if (characters + size > batchCharacters || lastOf(batches).length === maxDocuments) {
      batches.push([]);
      characters = 0;
    }
    lastOf(batches).push(document);
    characters += size;
  }
  return batches;
}

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
