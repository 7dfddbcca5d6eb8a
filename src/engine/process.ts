import { randomUUID } from 'node:crypto';
import { claimDocuments, type ClaimedDocument } from '../store/processing.ts';
import { caught, createGate } from '../base/concurrency.ts';
import { createVectorWork } from './make-vectors.ts';
import { processBatch, toBatch, type Batch, type BatchOptions } from './process-batch.ts';
import { withRenewal } from './document-leases.ts';
import { createPace } from './write-batch.ts';
import { largeFrom } from './text/batches.ts';
import type { Clock } from '../base/clock.ts';

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
