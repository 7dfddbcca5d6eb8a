import { randomUUID } from 'node:crypto';
import { claimDocuments, type ClaimedDocument } from '../store/processing.ts';
import { caught } from './caught.ts';
import { createVectorWork } from './make-vectors.ts';
import { createPace } from './pace.ts';
import { processBatch, toBatch, type Batch, type BatchOptions } from './process-batch.ts';
import { withRenewal } from './renewal.ts';
import { createSideWork, type SideWork } from './side-work.ts';
import { largeFrom } from './text/batches.ts';

export interface ProcessorOptions extends Omit<BatchOptions, 'pace'> {
  /** Documents claimed at once. Default 32. */
  batchSize?: number;
  /** How long a dead worker keeps its documents. Default 15,000. */
  leaseMs?: number;
}

export interface Processor {
  /** Processes documents that are held under a lease, keeping it alive from this call on; `start` delays the work. */
  process(leaseToken: string, documents: ClaimedDocument[], signal: AbortSignal, start?: Promise<void>): Underway;
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
  const { database, clock } = given;
  const leaseMs = given.leaseMs ?? 15_000;
  const options = { ...given, leaseMs, pace: createPace(clock) };
  const vectors = createVectorWork(options);
  const leaseUntil = () => new Date(clock.now().getTime() + leaseMs);

  async function drain(signal: AbortSignal): Promise<number> {
    const side = createSideWork(clock);
    const makeVectors = () => side.start(vectors.start(signal));
    let claimed = 0;
    try {
      makeVectors();
      while (!signal.aborted) {
        const leaseToken = randomUUID();
        const documents = await claim(leaseToken, side.isHeavy);
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

  /** Waits for what is prompt; the rest goes on beside. */
  async function besides(side: SideWork, { prompt, done }: Underway, documents: ClaimedDocument[]): Promise<void> {
    side.start(
      done,
      documents.reduce((sum, document) => sum + sizeOf(document), 0),
    );
    await prompt;
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

  function process(leaseToken: string, documents: ClaimedDocument[], signal: AbortSignal, start?: Promise<void>) {
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

  function claim(leaseToken: string, smallOnly: boolean): Promise<ClaimedDocument[]> {
    return claimDocuments(database, {
      limit: options.batchSize ?? 32,
      leaseToken,
      now: clock.now(),
      leaseUntil: leaseUntil(),
      ...(smallOnly && { maxBytes: largeFrom }),
    });
  }

  return { drain, process };
}

function sizeOf({ raw, bytes }: ClaimedDocument): number {
  return (raw?.length ?? 0) + (bytes?.length ?? 0);
}
