import { AsyncLocalStorage } from 'node:async_hooks';
import { valueOf } from '../base/collections.ts';
import { MemorydError } from '../base/errors.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import {
  resolveEnqueueOptions,
  backoffDelayMs,
  defaultAttempts,
  defaultBackoffMs,
  reportTaskFailure,
} from './task-rules.ts';
import type { TaskName, TaskQueue, EnqueueOptions, WorkOptions } from './task-queue.ts';

/**
 * The queue of a single process: tasks live in memory and are gone when it ends, which the sweep
 * over the database repairs. Times come from the clock alone.
 *
 * A task enqueued while its twin waits takes the earlier of the two times and the smaller of the
 * two priorities. A twin that waits for another attempt keeps its pause.
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
    async enqueue(name, payload, options) {
      const resolved = resolveEnqueueOptions(options);
      requireOpen();
      lineOf(name).enqueue(payload, resolved);
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
  dueMs: number;
  priority: number;
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
  readonly #waiting: WaitingRoom<Task>;
  #work: Work | undefined;
  #isPumping = false;

  constructor(parts: TaskLineParts) {
    this.#parts = parts;
    this.#waiting = new WaitingRoom<Task>({ clock: parts.clock, wake: () => this.#pumpSoon() });
  }

  enqueue(payload: unknown, { key, delayMs, priority }: Required<EnqueueOptions>): void {
    const dueMs = this.#parts.clock.now().getTime() + delayMs;
    const twin = this.#tasks.get(key);
    const waitingTwin = twin?.running ? twin.next : twin;
    if (waitingTwin) {
      if (waitingTwin.failures === 0) this.#hurry(waitingTwin, dueMs, priority);
      return;
    }
    const task: Task = { key, payload, dueMs, priority, failures: 0, running: false };
    if (twin) twin.next = task;
    else this.#add(task);
  }

  work(handler: Work['handler'], options: WorkOptions): void {
    if (this.#work) throw new MemorydError('conflict', `This process already works on ${this.#parts.name}.`);
    const { concurrency, attempts = defaultAttempts, backoffMs = defaultBackoffMs } = options;
    this.#work = { handler, concurrency, attempts, backoffMs };
    this.#pumpSoon();
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    this.#waiting.close();
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
      const task = this.#waiting.take();
      if (!task) return;
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
      else this.#retry(task, pauseMs);
    }
  }

  #add(task: Task): void {
    this.#tasks.set(task.key, task);
    this.#waiting.add(task);
  }

  #finish(task: Task): void {
    this.#tasks.delete(task.key);
    if (task.next) this.#add(task.next);
  }

  #retry(task: Task, pauseMs: number): void {
    task.running = false;
    task.dueMs = this.#parts.clock.now().getTime() + pauseMs;
    this.#waiting.add(task);
  }

  #hurry(task: Task, dueMs: number, priority: number): void {
    if (task.dueMs <= dueMs && task.priority <= priority) return;
    const waits = this.#waiting.remove(task);
    task.dueMs = Math.min(task.dueMs, dueMs);
    task.priority = Math.min(task.priority, priority);
    if (waits) this.#waiting.add(task);
  }
}

/** A timer of more than 24.8 days fires at once in Node; a room that is looked at daily never comes near. */
const maxSleepMs = 24 * 60 * 60 * 1000;

interface Waiting {
  /** Milliseconds of the clock from which on it may be taken. */
  readonly dueMs: number;
  /** Smaller is taken first. */
  readonly priority: number;
}

/** Tasks that wait in memory, ordered by time and then by priority. */
export class WaitingRoom<Item extends Waiting> {
  readonly #options: { clock: Clock; wake: () => void };
  readonly #due = new Map<number, Set<Item>>();
  readonly #later = new Set<Item>();
  #timer = new AbortController();
  #timerMs = Infinity;

  /** `wake` is called as soon as one can be taken. */
  constructor(options: { clock: Clock; wake: () => void }) {
    this.#options = options;
  }

  add(item: Item): void {
    if (item.dueMs > this.#nowMs()) {
      this.#later.add(item);
      if (item.dueMs < this.#timerMs) this.#setTimer(item.dueMs);
      return;
    }
    this.#addDue(item);
    this.#options.wake();
  }

  /** True when it was waiting. Must be called before its fields change. */
  remove(item: Item): boolean {
    return this.#later.delete(item) || this.#removeDue(item);
  }

  /** The due item with the smallest priority; within one priority the one that has been due longest. */
  take(): Item | undefined {
    if (this.#due.size === 0) return undefined;
    const [item] = valueOf(this.#due, Math.min(...this.#due.keys()));
    this.#removeDue(item!);
    return item;
  }

  close(): void {
    this.#timer.abort();
    this.#timerMs = -Infinity;
  }

  #nowMs(): number {
    return this.#options.clock.now().getTime();
  }

  #addDue(item: Item): void {
    const peers = this.#due.get(item.priority);
    if (peers) peers.add(item);
    else this.#due.set(item.priority, new Set([item]));
  }

  #removeDue(item: Item): boolean {
    const peers = this.#due.get(item.priority);
    if (!peers?.delete(item)) return false;
    if (peers.size === 0) this.#due.delete(item.priority);
    return true;
  }

  #setTimer(dueMs: number): void {
    this.#timer.abort();
    this.#timer = new AbortController();
    this.#timerMs = dueMs;
    if (dueMs === Infinity) return;
    const { signal } = this.#timer;
    const sleepMs = Math.min(Math.max(0, dueMs - this.#nowMs()), maxSleepMs);
    void this.#options.clock.sleep(sleepMs, signal).then(() => {
      if (!signal.aborted) this.#promote();
    });
  }

  #promote(): void {
    const nowMs = this.#nowMs();
    let nextMs = Infinity;
    for (const item of [...this.#later].sort((a, b) => a.dueMs - b.dueMs)) {
      if (item.dueMs > nowMs) {
        nextMs = item.dueMs;
        break;
      }
      this.#later.delete(item);
      this.#addDue(item);
    }
    this.#setTimer(nextMs);
    this.#options.wake();
  }
}
