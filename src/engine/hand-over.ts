import { randomUUID } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
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
  batchSize: number;
}

const leaseMs = 30_000;

export function createHandOver(options: HandOverOptions): HandOver {
  const stop = new AbortController();
  const running = new Set<Promise<void>>();
  const waiting: (() => void)[] = [];
  let working = 0;

  /** Resolves when it is this batch's turn. */
  function turn(): Promise<void> {
    return new Promise((resolve) => {
      const begin = () => {
        working += 1;
        resolve();
      };
      if (working < options.concurrency) begin();
      else waiting.push(begin);
    });
  }

  async function work(lease: NewLease, documents: ClaimedDocument[]): Promise<void> {
    const begun = turn();
    try {
      await options.processor.process(lease.token, documents, stop.signal, begun);
    } catch (error) {
      options.log.error(
        { err: error },
        'documents not processed, another worker takes them when their lease has ended',
      );
    } finally {
      await begun;
      working -= 1;
      waiting.shift()?.();
    }
  }

  return {
    reserve() {
      if (stop.signal.aborted || waiting.length >= options.concurrency * 2) return null;
      return { token: randomUUID(), until: new Date(options.clock.now().getTime() + leaseMs) };
    },
    accept(lease, documents) {
      for (let start = 0; start < documents.length; start += options.batchSize) {
        const done = work(lease, documents.slice(start, start + options.batchSize));
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
