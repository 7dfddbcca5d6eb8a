import { AsyncLocalStorage } from 'node:async_hooks';
import { MemorydError } from '../base/errors.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import {
  backoffDelayMs,
  defaultAttempts,
  defaultBackoffMs,
  reportTaskFailure,
  type TaskName,
  type TaskQueue,
  type WorkOptions,
} from './task-queue.ts';

/**
 * The queue of a single process: tasks live in memory and are gone when it ends, which the sweep
 * over the database repairs. Times come from the clock alone.
 */
export function createInProcessQueue({ clock, log }: { clock: Clock; log: Logger }): TaskQueue {
  const lines = new Map<TaskName, TaskLine>();
  // A handler must not inherit the asynchronous context (an open transaction) of whoever enqueued its task.
  const inOwnContext = AsyncLocalStorage.snapshot();
  let closed = false;

  function lineOf(name: TaskName): TaskLine {
    const existing = lines.get(name);
    if (existing) return existing;
    const line = new TaskLine({ name, clock, log, inOwnContext });
    lines.set(name, line);
    return line;
  }

  function requireOpen(): void {
    if (closed) throw new MemorydError('unavailable', 'The task queue is closed.');
  }

  return {
    kind: 'in-process',
    async enqueue(name, payload, { key }) {
      requireOpen();
      lineOf(name).enqueue(key, payload);
    },
    async work(name, handler, options) {
      requireOpen();
      lineOf(name).work((payload, signal) => handler(payload as Parameters<typeof handler>[0], signal), options);
    },
    async check() {
      requireOpen();
    },
    async close() {
      await Promise.all([...lines.values()].map((line) => line.close()));
      closed = true;
    },
  };
}

interface Task {
  readonly key: string;
  readonly payload: unknown;
  failures: number;
  running: boolean;
  /** Arrived while this one ran; takes its place afterwards. */
  next?: Task;
}

interface Work extends Required<WorkOptions> {
  handler: (payload: unknown, signal: AbortSignal) => Promise<void>;
}

interface TaskLineParts {
  name: TaskName;
  clock: Clock;
  log: Logger;
  /** Runs a function outside of the caller's asynchronous context. */
  inOwnContext: (callback: () => void) => void;
}

/** The tasks of one name in this process, waiting and running. */
class TaskLine {
  readonly #parts: TaskLineParts;
  readonly #tasks = new Map<string, Task>();
  readonly #running = new Set<Promise<void>>();
  readonly #stopping = new AbortController();
  /** Those that may be taken, in the order of their arrival. */
  readonly #waiting = new Set<Task>();
  #work: Work | undefined;
  #isPumping = false;

  constructor(parts: TaskLineParts) {
    this.#parts = parts;
  }

  enqueue(key: string, payload: unknown): void {
    const twin = this.#tasks.get(key);
    const task: Task = { key, payload, failures: 0, running: false };
    if (!twin) this.#add(task);
    else if (twin.running) twin.next ??= task;
  }

  work(handler: Work['handler'], options: WorkOptions): void {
    if (this.#work) throw new MemorydError('conflict', `This process already works on ${this.#parts.name}.`);
    const { concurrency, attempts = defaultAttempts, backoffMs = defaultBackoffMs } = options;
    this.#work = { handler, concurrency, attempts, backoffMs };
    this.#pumpSoon();
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#running);
  }

  // One turn of the event loop between two rounds, so that handlers without I/O cannot starve the rest.
  #pumpSoon(): void {
    if (this.#isPumping) return;
    this.#isPumping = true;
    this.#parts.inOwnContext(() => setImmediate(() => this.#pump()));
  }

  #pump(): void {
    this.#isPumping = false;
    while (this.#work && !this.#stopping.signal.aborted && this.#running.size < this.#work.concurrency) {
      const [task] = this.#waiting;
      if (!task) return;
      this.#waiting.delete(task);
      const done = this.#run(task, this.#work).finally(() => {
        this.#running.delete(done);
        this.#pumpSoon();
      });
      this.#running.add(done);
    }
  }

  async #run(task: Task, { handler, attempts, backoffMs }: Work): Promise<void> {
    const { log, name } = this.#parts;
    task.running = true;
    try {
      await handler(task.payload, this.#stopping.signal);
      this.#finish(task);
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      task.failures += 1;
      const pauseMs = task.failures < attempts ? backoffDelayMs(backoffMs, task.failures) : null;
      reportTaskFailure(log, { task: name, key: task.key, failures: task.failures, pauseMs, err: error });
      if (pauseMs === null) this.#finish(task);
      else void this.#retry(task, pauseMs);
    }
  }

  #add(task: Task): void {
    this.#tasks.set(task.key, task);
    this.#wait(task);
  }

  #finish(task: Task): void {
    this.#tasks.delete(task.key);
    if (task.next) this.#add(task.next);
  }

  async #retry(task: Task, pauseMs: number): Promise<void> {
    task.running = false;
    await this.#parts.clock.sleep(pauseMs, this.#stopping.signal);
    this.#wait(task);
  }

  #wait(task: Task): void {
    this.#waiting.add(task);
    this.#pumpSoon();
  }
}
