import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { MemorydError } from '../../base/errors.ts';
import type { ModelFacts, WorkerReply, WorkerRequest, WorkerSetup } from './messages.ts';

/** A worker thread with an open model. It serves one request at a time. */
export interface ModelThread {
  /** Rejects with `model_unavailable` when the model cannot be opened, `embed_failed` when the thread dies first. */
  readonly ready: Promise<ModelFacts>;
  /** Resolves when the thread has ended, whatever the reason. */
  readonly ended: Promise<void>;
  /**
   * The vector of each text, or, with a query, a single number: how close they are. Rejects with
   * `embed_failed` when the thread dies meanwhile.
   */
  run(sequences: readonly Int32Array[], query?: Int32Array): Promise<Float32Array[]>;
  /** Whether the process is kept alive for it. */
  keepAlive(needed: boolean): void;
  /** Lets it finish what it runs, then ends it. */
  close(): Promise<void>;
}

/** A run takes tens of milliseconds; a thread that has not ended by then is stopped. */
const closeTimeoutMs = 5_000;
const restartAfterMs = 1_000;
/** `.ts` in the source tree, `.js` once built. */
const workerUrl = new URL(`./model-worker${extname(import.meta.url)}`, import.meta.url);

export function startModelThread(setup: WorkerSetup): ModelThread {
  const worker = new Worker(workerUrl, { workerData: setup, name: 'memoryd-model' });
  const ready = Promise.withResolvers<ModelFacts>();
  let dimensions = 0;
  let running: PromiseWithResolvers<Float32Array> | null = null;
  let death: MemorydError | null = null;

  worker.on('message', (reply: WorkerReply) => {
    if (reply.type === 'vectors') return running?.resolve(reply.values);
    if (reply.type === 'failed') return ready.reject(openError(reply));
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
    async run(sequences, query) {
      if (death) throw death;
      running = Promise.withResolvers<Float32Array>();
      send({ type: 'run', sequences, ...(query && { query }) });
      const values = await running.promise;
      const width = query ? 1 : dimensions;
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
