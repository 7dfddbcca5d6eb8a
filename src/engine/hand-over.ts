import { randomUUID } from 'node:crypto';
import { lastOf } from '../base/collections.ts';
import type { Clock } from '../base/clock.ts';
import { createGate } from '../base/concurrency.ts';
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
