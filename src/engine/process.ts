import { randomUUID } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { lastOf } from '../base/collections.ts';
import { caught, createGate } from '../base/concurrency.ts';
import type { Logger } from '../base/log.ts';
import type { TaskQueue } from '../queue/task-queue.ts';
import type { NewLease } from '../store/documents.ts';
import { claimDocuments, type ClaimedDocument } from '../store/processing.ts';
import { withRenewal } from './document-leases.ts';
import { createVectorWork } from './make-vectors.ts';
import { processBatch, toBatch, type Batch, type BatchOptions } from './process-batch.ts';
import { largeFrom } from './text/threads.ts';
import { createPace } from './write-batch.ts';

export interface ProcessorOptions extends Omit<BatchOptions, 'pace'> {
  /** Documents claimed at once. Default 32. */
  batchSize?: number;
  /** How long a dead worker keeps its documents. Default 15,000. */
  leaseMs?: number;
}

export interface Processor {
  /** Processes documents that are held under a lease, keeping it alive from this call on; `start` delays the work. */
  process(leaseToken: string, documents: ClaimedDocument[], signal: AbortSignal, start?: Promise<unknown>): Underway;
  /** Claims and processes batches until nothing is due or the signal aborts. Returns how many were claimed. */
  drain(signal: AbortSignal): Promise<number>;
}

/** Documents that are processed. */
export interface Underway {
  /** When only those are left that take long, or all is over. Never rejects. */
  prompt: Promise<void>;
  done: Promise<void>;
}

/**
 * Takes queued documents through extract → chunk → embed → index. Where vectors take longer than a moment, documents
 * go on with their words alone, and their vectors are made beside. Several drains may run side by
 * side, in this process and in others: each works on what it claimed, and only the holder of the
 * lease on the claimed revision can write a result.
 */
export function createProcessor(given: ProcessorOptions): Processor {
  const { clock } = given;
  const leaseMs = given.leaseMs ?? 15_000;
  const options = { ...given, leaseMs, pace: createPace(clock) };
  const vectors = createVectorWork(options);

  async function drain(signal: AbortSignal): Promise<number> {
    const side = createSideWork(clock);
    const makeVectors = () => side.start(vectors.start(signal));
    let claimed = 0;
    try {
      makeVectors();
      while (!signal.aborted) {
        const leaseToken = randomUUID();
        const documents = await claim(options, leaseToken, side.isHeavy);
        claimed += documents.length;
        const pages = documents.filter(({ kind }) => kind === 'url');
        const others = documents.filter(({ kind }) => kind !== 'url');
        if (pages.length > 0) side.start(fetchAll(side, toBatch(leaseToken, pages), signal, makeVectors));
        if (others.length > 0) await besides(side, process(leaseToken, others, signal), others);
        else if (!(await side.pause())) break;
        while (side.isFull) await side.pause();
      }
    } finally {
      await side.settled();
    }
    return claimed;
  }

  /** Each on its own, so that none waits for the answer of another one's server. */
  function fetchAll(side: SideWork, pages: Batch, signal: AbortSignal, worded: () => void): Promise<void> {
    const events = { prompt: () => {}, worded };
    return withRenewal(options, pages, () =>
      side.each(pages.documents, (document) =>
        processBatch(options, { ...pages, documents: [document] }, signal, events),
      ),
    );
  }

  function process(leaseToken: string, documents: ClaimedDocument[], signal: AbortSignal, start?: Promise<unknown>) {
    const batch = toBatch(leaseToken, documents);
    const prompt = Promise.withResolvers<void>();
    const making: Promise<void>[] = [];
    const worded = () => making.push(caught(vectors.start(signal)));
    const done = withRenewal(options, batch, async () => {
      await start;
      await processBatch(options, batch, signal, { prompt: prompt.resolve, worded });
    }).finally(prompt.resolve);
    return { prompt: prompt.promise, done: done.then(async () => void (await Promise.all(making))) };
  }

  return { drain, process };
}

function claim(
  options: ProcessorOptions & { leaseMs: number },
  leaseToken: string,
  smallOnly: boolean,
): Promise<ClaimedDocument[]> {
  const { database, clock, leaseMs } = options;
  const now = clock.now();
  return claimDocuments(database, {
    limit: options.batchSize ?? 32,
    leaseToken,
    now,
    leaseUntil: new Date(now.getTime() + leaseMs),
    ...(smallOnly && { maxBytes: largeFrom }),
  });
}

/** Waits for what is prompt; the rest goes on beside. */
async function besides(side: SideWork, { prompt, done }: Underway, documents: ClaimedDocument[]): Promise<void> {
  side.start(
    done,
    documents.reduce((sum, document) => sum + sizeOf(document), 0),
  );
  await prompt;
}

function sizeOf({ raw, bytes }: ClaimedDocument): number {
  return (raw?.length ?? 0) + (bytes?.length ?? 0);
}

interface SideWork {
  /** Whether so much waits that no more should be taken. */
  readonly isFull: boolean;
  /** Does this for each, some at a time; ends when all of them have, with the first failure. */
  each<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void>;
  /** Lets this go on by itself, which holds so many bytes of content. What it throws, `settled` throws. */
  start(work: Promise<void>, bytes?: number): void;
  /** Whether the documents under way hold so much content that no more large ones should be taken. */
  readonly isHeavy: boolean;
  /** Waits until something has ended or a short time is over; false when nothing is under way. */
  pause(): Promise<boolean>;
  /** When nothing is under way any more. */
  settled(): Promise<void>;
}

/** Addresses that one drain fetches at a time; each may take as long as `UrlFetcher` allows. */
const atOnce = 16;
const mostUnderWay = 256;
const mostGroups = 64;
/** Processing takes several times a document's size, and each drain has its own. */
const heavyFrom = 8 * 1024 * 1024;
const pauseMs = 500;

/**
 * Work beside the batches of one drain: documents that are an address, whose servers may be slow, and
 * those that take long to read. They keep no other document waiting.
 */
export function createSideWork(clock: Clock): SideWork {
  const gate = createGate(atOnce);
  let underWay = 0;
  let heldBytes = 0;
  let failure: { error: unknown } | null = null;
  const groups = new Set<Promise<void>>();

  async function inTurn(work: () => Promise<void>): Promise<void> {
    underWay += 1;
    try {
      await gate.run(work);
    } finally {
      underWay -= 1;
    }
  }

  return {
    get isFull() {
      return underWay >= mostUnderWay || groups.size >= mostGroups;
    },
    get isHeavy() {
      return heldBytes >= heavyFrom;
    },
    async each(items, work) {
      const ends = await Promise.allSettled(items.map((item) => inTurn(() => work(item))));
      const failed = ends.find((end) => end.status === 'rejected');
      if (failed) throw failed.reason;
    },
    start(work, bytes = 0) {
      heldBytes += bytes;
      const ended = () => {
        heldBytes -= bytes;
        groups.delete(group);
      };
      const group = work.catch((error: unknown) => void (failure ??= { error })).finally(ended);
      groups.add(group);
    },
    async pause() {
      if (groups.size === 0) return false;
      const over = new AbortController();
      await Promise.race([...groups, clock.sleep(pauseMs, over.signal)]);
      over.abort();
      return true;
    },
    async settled() {
      await Promise.all(groups);
      if (failure) throw failure.error;
    },
  };
}

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
