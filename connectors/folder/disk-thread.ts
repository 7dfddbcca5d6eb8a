import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Context } from 'memoryd/connector';
import { factFields, factKinds, type DiskAnswer, type DiskQuestion, type PathList } from './disk-worker.ts';
import type { FileFacts } from './facts.ts';

export interface FileContent {
  facts: FileFacts;
  bytes: Uint8Array;
}

/**
 * A thread that waits for the disk. To hand each call to Node's thread pool costs the main thread several times what
 * the call itself takes when the disk answers from memory; here one message asks about many files. Paths are in text
 * form, and none may be a link to be followed.
 */
export interface DiskThread {
  /** False until it has started, and after it has ended: nothing is answered then. */
  readonly isReady: boolean;
  /** Facts about paths, in order; undefined where they have to be found in another way. Throws only when aborted. */
  look(paths: readonly string[], signal: AbortSignal): Promise<(FileFacts | undefined)[]>;
  /** Files with their content, in order; undefined where they have to be read in another way. Throws only when aborted. */
  read(
    paths: readonly string[],
    options: { maxBytes: number; nowMs: number },
    signal: AbortSignal,
  ): Promise<(FileContent | undefined)[]>;
  close(): Promise<void>;
}

/** The thread of this run, started by whoever first asks for it. */
export function diskThreadOf(ctx: Context<any>): Promise<DiskThread> {
  return ctx.session(
    'disk thread',
    async () => startDiskThread(),
    (thread) => thread.close(),
  );
}

// The build turns this file and the worker into JavaScript together.
const workerUrl = new URL(`./disk-worker${extname(import.meta.url)}`, import.meta.url);

function startDiskThread(): DiskThread {
  const worker = new Worker(workerUrl, { execArgv: [] });
  const waiting = new Map<number, (answer: DiskAnswer | undefined) => void>();
  let isReady = false;
  let lastId = 0;
  const settle = (id: number, answer: DiskAnswer) => {
    waiting.get(id)?.(answer);
    waiting.delete(id);
  };
  const end = () => {
    isReady = false;
    for (const resolve of waiting.values()) resolve(undefined);
    waiting.clear();
  };
  worker.on('error', end);
  worker.on('exit', end);
  worker.on('message', (answer: DiskAnswer | null) => {
    // Under `node --watch` Node sends messages of its own the same way (nodejs/node#65044).
    if (answer !== null && !('id' in answer)) return;
    isReady = true;
    if (answer !== null) settle(answer.id, answer);
    // From the first message on: a thread that is still starting does not heed it.
    if (waiting.size === 0) worker.unref();
  });

  function ask(question: WithoutId<DiskQuestion>, signal: AbortSignal): Promise<DiskAnswer | undefined> {
    signal.throwIfAborted();
    if (!isReady) return Promise.resolve(undefined);
    const id = ++lastId;
    return new Promise((resolve, reject) => {
      const abort = () => {
        waiting.delete(id);
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', abort, { once: true });
      waiting.set(id, (answer) => {
        signal.removeEventListener('abort', abort);
        resolve(answer);
      });
      worker.ref();
      worker.postMessage({ id, ...question });
    });
  }

  return {
    get isReady() {
      return isReady;
    },
    async look(paths, signal) {
      const answer = await ask({ look: toList(paths) }, signal);
      return paths.map((_, index) => readFacts(answer, index));
    },
    async read(paths, options, signal) {
      const answer = await ask({ read: toList(paths), ...options }, signal);
      return paths.map((_, index) => {
        const facts = readFacts(answer, index);
        const bytes = answer?.contents?.[index];
        return facts && bytes ? { facts, bytes } : undefined;
      });
    },
    async close() {
      await worker.terminate();
    },
  };
}

type WithoutId<Question> = Question extends { id: number } ? Omit<Question, 'id'> : never;

function toList(paths: readonly string[]): PathList {
  return paths.join('\0');
}

function readFacts(answer: DiskAnswer | undefined, index: number): FileFacts | undefined {
  const at = index * factFields;
  const kind = factKinds[answer?.facts[at] ?? NaN];
  if (answer === undefined || kind === undefined) return undefined;
  const [, bytes, modifiedMs, changedMs, bornMs, device, inode] = answer.facts.subarray(at, at + factFields);
  return {
    kind,
    bytes: bytes!,
    modifiedMs: modifiedMs!,
    changedMs: changedMs!,
    bornMs: bornMs!,
    device: device!,
    inode: inode!,
  };
}
