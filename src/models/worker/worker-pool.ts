import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { MemorydError } from '../../base/errors.ts';
import type { Comparison, Question } from '../comparison.ts';
import { createCallQueue, type Bundle, type CallKind, type CallQueue, type CallQueueOptions } from './call-queue.ts';
import type { ModelFacts, WorkerSetup, WorkerReply, WorkerRequest } from './messages.ts';

export interface WorkerPool {
  /** Pooled vectors in order, not of unit length. Rejects with `embed_failed` or `model_unavailable`. */
  embed(
    texts: readonly string[],
    options: { kind: CallKind; signal?: AbortSignal | undefined },
  ): Promise<Float32Array[]>;
  /** How close each text is to the question, by their tokens. Rejects as `embed`. */
  compare(comparison: Comparison, signal?: AbortSignal): Promise<number[]>;
  /** About the opened model; opens it when that has not happened yet. */
  facts(): Promise<ModelFacts>;
  /** Rejects what waits, lets running texts end, ends the threads. */
  close(): Promise<void>;
}

export interface WorkerPoolOptions {
  setup: WorkerSetup;
  /** Threads at the most. The first starts with the first call, others when work piles up. */
  threads: number;
  encode: CallQueueOptions['encode'];
}

/** About 10 ms of work for MiniLM: short enough for a query to wait for, long enough to hide the message's cost. */
const bundleTokens = 128;

interface Pool {
  queue: CallQueue;
  bell: Doorbell;
  setup: WorkerSetup;
  threads: Set<ModelThread>;
  /** Threads at the most; fewer than asked for when the machine could not start more. */
  limit: number;
  starting: Promise<ModelFacts> | null;
  facts: ModelFacts | null;
  closed: boolean;
}

/**
 * Shares waiting texts among threads that each hold the model. A thread that dies fails only the
 * calls whose texts it was running; when there is more to do, another one is started.
 */
export function createWorkerPool({ setup, threads: limit, encode }: WorkerPoolOptions): WorkerPool {
  const queue = createCallQueue({ encode, bundleTokens });
  const pool: Pool = {
    ...{ queue, bell: createDoorbell(), setup, threads: new Set(), limit },
    ...{ starting: null, facts: null, closed: false },
  };
  return {
    async embed(texts, { kind, signal }) {
      if (pool.closed) throw closedError();
      const vectors = queue.add(texts, kind, signal);
      callThreads(pool);
      return vectors;
    },
    async compare(comparison, signal) {
      if (pool.closed) throw closedError();
      const scores = queue.compare(comparison, signal);
      callThreads(pool);
      return (await scores).map(([score]) => score!);
    },
    async facts() {
      if (pool.closed) throw closedError();
      return pool.facts ?? pool.starting ?? startThread(pool);
    },
    async close() {
      pool.closed = true;
      queue.rejectAll(closedError());
      pool.bell.ring();
      await Promise.all([...pool.threads].map((thread) => thread.close()));
    },
  };
}

/** Wakes idle threads, or starts one more when all are busy. */
function callThreads(pool: Pool): void {
  const mayStart = !pool.bell.isWatched() && !pool.starting && pool.threads.size < pool.limit;
  pool.bell.ring();
  if (mayStart && pool.queue.hasWork()) void startThread(pool);
}

function startThread(pool: Pool): Promise<ModelFacts> {
  const thread = startModelThread(pool.setup);
  pool.threads.add(thread);
  void thread.ended.then(() => {
    pool.threads.delete(thread);
    callThreads(pool);
  });
  const starting = thread.ready.finally(() => (pool.starting = null));
  pool.starting = starting;
  starting.then(
    (facts) => {
      pool.facts = facts;
      return serve(pool, thread);
    },
    (error: unknown) => giveUp(pool, thread, error),
  );
  return starting;
}

/** Without another thread nobody can serve what waits; with one, it goes on with fewer. */
function giveUp(pool: Pool, thread: ModelThread, error: unknown): void {
  pool.threads.delete(thread);
  if (pool.threads.size === 0) pool.queue.rejectAll(error);
  else pool.limit = pool.threads.size;
}

/** The loop of one thread. An idle thread does not keep the process alive. */
async function serve(pool: Pool, thread: ModelThread): Promise<void> {
  while (!pool.closed && pool.threads.has(thread)) {
    const bundle = pool.queue.take();
    if (bundle) {
      callThreads(pool);
      await runBundle(thread, bundle);
    } else {
      thread.keepAlive(false);
      await pool.bell.wait(thread.ended);
      thread.keepAlive(true);
    }
  }
}

async function runBundle(thread: ModelThread, bundle: Bundle): Promise<void> {
  try {
    bundle.resolve(await thread.run(bundle.sequences, bundle.question));
  } catch (error) {
    bundle.reject(error);
  }
}

function closedError(): MemorydError {
  return new MemorydError('embed_failed', 'The embedding model is closed: the daemon is shutting down.', {
    retryAfterMs: 1_000,
  });
}

/** Lets idle workers wait until there may be something to do. */
interface Doorbell {
  /** Wakes all that wait. */
  ring(): void;
  /** Whether anybody waits. */
  isWatched(): boolean;
  /** Resolves at the next ring, or when `orElse` does. */
  wait(orElse: Promise<unknown>): Promise<void>;
}

function createDoorbell(): Doorbell {
  const sleepers = new Set<() => void>();
  return {
    ring() {
      for (const wake of sleepers) wake();
    },
    isWatched: () => sleepers.size > 0,
    async wait(orElse) {
      const { promise, resolve } = Promise.withResolvers<void>();
      sleepers.add(resolve);
      await Promise.race([promise, orElse]);
      sleepers.delete(resolve);
    },
  };
}

/** A worker thread with an open model. It serves one request at a time. */
interface ModelThread {
  /** Rejects with `model_unavailable` when the model cannot be opened, `embed_failed` when the thread dies first. */
  readonly ready: Promise<ModelFacts>;
  /** Resolves when the thread has ended, whatever the reason. */
  readonly ended: Promise<void>;
  /**
   * The vector of each text, or, with a question, a single number: how close they are. Rejects with
   * `embed_failed` when the thread dies meanwhile.
   */
  run(sequences: readonly Int32Array[], question?: Question): Promise<Float32Array[]>;
  /** Whether the process is kept alive for it. */
  keepAlive(needed: boolean): void;
  /** Lets it finish what it runs, then ends it. */
  close(): Promise<void>;
}

/**
 * A thread that has not ended by then is stopped. That takes the process down when it opens or runs a model, as native
 * code throws where nothing may be thrown any more; so it has longer than a busy machine needs for either.
 */
const closeTimeoutMs = 60_000;
const restartAfterMs = 1_000;
/** `.ts` in the source tree, `.js` once built. */
const workerUrl = new URL(`./model-worker${extname(import.meta.url)}`, import.meta.url);

function startModelThread(setup: WorkerSetup): ModelThread {
  const worker = new Worker(workerUrl, { workerData: setup, name: 'memoryd-model' });
  const ready = Promise.withResolvers<ModelFacts>();
  let dimensions = 0;
  let running: PromiseWithResolvers<Float32Array> | null = null;
  let death: MemorydError | null = null;

  worker.on('message', (reply: WorkerReply) => {
    if (reply.type === 'vectors') return running?.resolve(reply.values);
    if (reply.type === 'failed') return ready.reject(openError(reply));
    // Under `node --watch` Node sends messages of its own the same way (nodejs/node#65044).
    if (reply.type !== 'ready') return;
    dimensions = reply.facts.dimensions;
    ready.resolve(reply.facts);
  });
  worker.on('error', (error) => (death = deathError(error)));
  const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve())).then(() => {
    death ??= deathError(undefined);
    running?.reject(death);
    ready.reject(death);
  });
  ready.promise.catch(() => undefined);

  const send = (request: WorkerRequest): void => worker.postMessage(request);
  return {
    ready: ready.promise,
    ended,
    async run(sequences, question) {
      if (death) throw death;
      running = Promise.withResolvers<Float32Array>();
      send({ type: 'run', sequences, question });
      const values = await running.promise;
      const width = question ? 1 : dimensions;
      return sequences.map((_, index) => values.slice(index * width, (index + 1) * width));
    },
    keepAlive: (needed) => (needed ? worker.ref() : worker.unref()),
    async close() {
      worker.ref();
      send({ type: 'close' });
      const timer = setTimeout(() => void worker.terminate(), closeTimeoutMs);
      await ended;
      clearTimeout(timer);
    },
  };
}

function openError({ code, message, details }: Extract<WorkerReply, { type: 'failed' }>): MemorydError {
  return new MemorydError(code, message, details === undefined ? {} : { details });
}

function deathError(cause: unknown): MemorydError {
  const message = 'The thread that runs the embedding model ended unexpectedly. It is started again by itself.';
  return new MemorydError('embed_failed', message, { cause, retryAfterMs: restartAfterMs });
}
