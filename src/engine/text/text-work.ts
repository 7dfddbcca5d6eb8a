import { firstOf, paired, present } from '../../base/collections.ts';
import { MemorydError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import type { Extractor as MemoryExtractor, Turn } from '../../memory/extractor.ts';
import { rules } from '../../memory/rules/extract.ts';
import { failed, type Extracted, type ExtractInput } from '../extract/extracted.ts';
import {
  createBatches,
  type Batches,
  type Sized,
  createTextThread,
  ThreadEnded,
  type TextThread,
  type ThreadCall,
} from './threads.ts';
import type { CutDocument, Cutting, TaskName, Tasks, ThreadAnswer } from './text-worker.ts';

export interface TextWorkOptions {
  /** At least 2, the default: one is kept for what is small. */
  threads?: number;
  /** Work on one document that takes longer fails. Default 60,000. */
  timeoutMs?: number;
  /** Work on one document that needs more memory fails. Default 512. */
  maxMemoryMb?: number;
  /**
   * Work that seemed small and takes longer makes room for what waits behind it, and is begun again among the
   * large. Default 2,000.
   */
  giveWayMs?: number;
  /** Work that seemed small and needs more memory is begun again among the large. Default 96. */
  giveWayMb?: number;
  log: Logger;
}

export interface WorkOptions {
  /** Containers take turns. */
  container?: string;
  signal?: AbortSignal;
}

/** Takes the text out of documents. */
export interface Extractor {
  /**
   * Throws `MemorydError`, none of which another attempt would mend: `unsupported_type`,
   * `extract_failed` (damaged, encrypted, too slow, too hungry), `too_large`; `unavailable` when the
   * threads are closed; the signal's reason when it aborts.
   */
  extract(input: ExtractInput, options?: WorkOptions): Promise<Extracted>;
  /** Images are read as well. Default false. */
  readonly readsPictures?: boolean;
}

/**
 * All work whose time grows with content, in worker threads: nothing that somebody writes can keep the
 * daemon from answering, nor keep one document waiting for a larger one that came before.
 */
export interface TextWork extends Extractor {
  /** As `extract`, and cuts the text into chunks with their terms. */
  prepare(input: ExtractInput, cutting: Cutting, options?: WorkOptions): Promise<CutDocument>;
  /** The turns of a conversation that is one text. Throws as `extract`. */
  turns(text: string, options?: WorkOptions): Promise<Turn[]>;
  /** Finds what is worth remembering by rules. Throws as `extract`. */
  readonly rules: MemoryExtractor;
  /** Ends the threads. What waits or is under way fails with `unavailable`. */
  close(): Promise<void>;
}

type Limits = Required<Omit<TextWorkOptions, 'threads'>>;

const idleMs = 30_000;
const watchMs = 100;
/** A thread that holds more memory than this after something large is ended, which gives it back. */
const restMb = 96;

export function createTextWork(options: TextWorkOptions): TextWork {
  const pool = new ThreadPool(options);
  return {
    extract: (input, work) => pool.run('extract', input, work),
    prepare: (input, cutting, work) => pool.run('prepare', { input, cutting }, work),
    turns: (text, work) => pool.run('turns', { text }, work),
    rules: {
      id: rules.id,
      extract: (unit, signal) =>
        pool.run('statements', unit, { signal, ...present({ container: unit.source?.containerTag }) }),
    },
    close: () => pool.close(),
  };
}

/** The threads, the work that waits for them, and what of them has nothing to do. */
class ThreadPool {
  readonly #limits: Limits;
  readonly #mostThreads: number;
  readonly #batches: Batches<Job>;
  readonly #threads = new Set<TextThread>();
  readonly #idle = new Map<TextThread, NodeJS.Timeout>();
  #isClosed = false;

  constructor({ threads = 2, ...limits }: TextWorkOptions) {
    this.#limits = { timeoutMs: 60_000, maxMemoryMb: 512, giveWayMs: 2_000, giveWayMb: 96, ...limits };
    this.#mostThreads = Math.max(2, threads);
    this.#batches = createBatches<Job>({ maxLarge: this.#mostThreads - 1 });
  }

  async run<Name extends TaskName>(
    task: Name,
    input: Parameters<Tasks[Name]>[0],
    { container, signal }: WorkOptions = {},
  ): Promise<Awaited<ReturnType<Tasks[Name]>>> {
    if (this.#isClosed) throw closedError();
    signal?.throwIfAborted();
    const job = createJob(task, input, container);
    const abort = () => {
      this.#batches.remove(job);
      job.reject(signal?.reason);
    };
    signal?.addEventListener('abort', abort, { once: true });
    this.#batches.add(job);
    this.#dispatch();
    try {
      return (await job.result) as Awaited<ReturnType<Tasks[Name]>>;
    } finally {
      signal?.removeEventListener('abort', abort);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const job of this.#batches.clear()) job.reject(closedError());
    await Promise.all([...this.#threads].map((thread) => thread.end(closedError())));
  }

  #dispatch(): void {
    while (this.#idle.size > 0 || this.#threads.size < this.#mostThreads) {
      const batch = this.#batches.next();
      if (!batch) return;
      void this.#work(this.#takeIdle() ?? this.#open(), batch);
    }
  }

  #open(): TextThread {
    const thread = createTextThread(this.#limits.maxMemoryMb);
    this.#threads.add(thread);
    return thread;
  }

  #takeIdle(): TextThread | undefined {
    const [thread] = this.#idle.keys();
    if (!thread) return undefined;
    clearTimeout(this.#idle.get(thread));
    this.#idle.delete(thread);
    // A thread can end while it has nothing to do.
    if (thread.alive) return thread;
    this.#threads.delete(thread);
    return this.#takeIdle();
  }

  /** An idle thread is kept for the next document for a while. */
  #rest(thread: TextThread): void {
    const leave = () => {
      this.#idle.delete(thread);
      this.#threads.delete(thread);
      void thread.end(closedError());
    };
    this.#idle.set(thread, setTimeout(leave, idleMs).unref());
  }

  async #work(thread: TextThread, batch: readonly Job[]): Promise<void> {
    let unwatch = () => {};
    try {
      await thread.ready;
      unwatch = watch(thread, batch, this.#batches, this.#limits);
      const answers = await thread.run(batch.map((job) => job.call()));
      for (const [job, answer] of paired(batch, answers)) job.answer(answer);
    } catch (reason) {
      for (const job of batch) this.#again(job, batch.length, reason);
    }
    unwatch();
    await this.#giveBack(thread, batch);
    this.#batches.ended(batch);
    if (!thread.alive) this.#threads.delete(thread);
    else if (!this.#isClosed) this.#rest(thread);
    if (!this.#isClosed) this.#dispatch();
  }

  async #giveBack(thread: TextThread, batch: readonly Job[]): Promise<void> {
    if (!thread.alive || !this.#batches.isLarge(firstOf(batch))) return;
    const { heldMb } = await thread.memory().catch(() => ({ heldMb: 0 }));
    if (heldMb > restMb) await thread.end(closedError());
  }

  /** After its thread has ended: what did not end it alone is worked on again. */
  #again(job: Job, companions: number, reason: unknown): void {
    if (job.isOver) return;
    if (this.#isClosed || (companions === 1 && reason !== gaveWay)) return job.reject(toFailure(reason, this.#limits));
    if (companions === 1) job.isSlow = true;
    job.isAlone = true;
    this.#batches.add(job);
  }
}

/** Why a thread was ended. */
const gaveWay = Symbol('gave way');
const outOfTime = Symbol('out of time');
const outOfMemory = Symbol('out of memory');
const unwanted = Symbol('unwanted');

/** Ends the thread when time or memory runs out, or nobody wants the result any more. Returns what ends the watching. */
function watch(thread: TextThread, batch: readonly Job[], batches: Batches<Job>, limits: Limits): () => void {
  const start = performance.now();
  const isSmall = batch.length > 1 || !batches.isLarge(firstOf(batch));
  const reasonToEnd = (usedMb: number) => {
    const ms = performance.now() - start;
    if (batch.every((job) => job.isOver)) return unwanted;
    if (ms >= limits.timeoutMs) return outOfTime;
    if (usedMb > limits.maxMemoryMb) return outOfMemory;
    if (isSmall && usedMb > limits.giveWayMb) return gaveWay;
    const others = batch.length > 1 || batches.smallWaits;
    return isSmall && others && ms >= limits.giveWayMs ? gaveWay : null;
  };
  let isOver = false;
  const check = (usedMb: number) => {
    // The thread may work for somebody else by the time that it says how much memory it uses.
    if (isOver) return;
    const reason = reasonToEnd(usedMb);
    if (reason !== null) void thread.end(reason);
  };
  const timer = setInterval(() => {
    check(0);
    // Fails when the thread has just ended, which its own events report.
    thread.memory().then(
      ({ usedMb }) => check(usedMb),
      () => undefined,
    );
  }, watchMs);
  return () => {
    isOver = true;
    clearInterval(timer);
  };
}

function toFailure(reason: unknown, { timeoutMs, maxMemoryMb, log }: Limits): unknown {
  if (reason === outOfTime) {
    log.warn({ timeoutMs }, 'work on a document took too long');
    return failed(`Reading the document took longer than ${Math.ceil(timeoutMs / 1000)} seconds.`);
  }
  if (reason === outOfMemory || (reason instanceof ThreadEnded && reason.outOfMemory)) {
    log.warn({ maxMemoryMb }, 'work on a document took too much memory');
    return failed(`Reading the document took more than ${maxMemoryMb} MiB of memory.`);
  }
  if (reason instanceof ThreadEnded)
    return failed('The thread that read the document ended unexpectedly.', reason.cause);
  return reason;
}

function closedError(): MemorydError {
  return new MemorydError('unavailable', 'The daemon is shutting down; the document was not read.');
}

/** One call of a task, from when it is asked for until it has a result. */
interface Job extends Sized {
  isSlow: boolean;
  isAlone: boolean;
  /** It has its result, its error, or nobody who waits for it. */
  readonly isOver: boolean;
  readonly result: Promise<unknown>;
  /** Makes the message for the thread, anew each time, because sending transfers its bytes. */
  call(): ThreadCall;
  answer(answer: ThreadAnswer): void;
  reject(error: unknown): void;
}

/** Content as tasks take it: what it is called in their input. */
interface Content {
  text?: string | null;
  turns?: readonly { text: string }[];
  bytes?: Uint8Array;
}

function createJob(task: TaskName, input: unknown, container = ''): Job {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  let isOver = false;
  const once = (settle: () => void) => {
    isOver = true;
    settle();
  };
  return {
    container,
    size: sizeOf(contentOf(input)),
    isSlow: false,
    isAlone: false,
    get isOver() {
      return isOver;
    },
    result: promise,
    call: () => toCall(task, input),
    answer: (answer) => once(() => ('result' in answer ? resolve(answer.result) : reject(toError(answer.failure)))),
    reject: (error) => once(() => reject(error)),
  };
}

function contentOf(input: unknown): Content {
  const { input: inner } = input as { input?: Content };
  return inner ?? (input as Content);
}

function sizeOf({ text, turns = [], bytes }: Content): number {
  const said = turns.reduce((sum, turn) => sum + turn.text.length, 0);
  return (text?.length ?? 0) + said + (bytes?.length ?? 0);
}

/** A copy of the bytes is sent: the sender keeps its own, and a view of a large buffer does not drag that along. */
function toCall(task: TaskName, input: unknown): ThreadCall {
  const { bytes } = contentOf(input);
  if (!bytes) return { task, input, moved: [] };
  const copy = new Uint8Array(bytes);
  const content = { ...contentOf(input), bytes: copy };
  const whole = input as { input?: Content };
  return { task, input: whole.input ? { ...whole, input: content } : content, moved: [copy.buffer] };
}

function toError(failure: Extract<ThreadAnswer, { failure: unknown }>['failure']): MemorydError {
  return new MemorydError(failure.code, failure.message, {
    shouldRetry: false,
    ...(failure.cause === undefined ? {} : { cause: new Error(failure.cause) }),
  });
}
