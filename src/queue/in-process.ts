import { AsyncLocalStorage } from 'node:async_hooks';
import { valueOf } from '../base/collections.ts';
import { MemorydError } from '../base/errors.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { resolveEnqueueOptions, backoffDelayMs, defaultAttempts, defaultBackoffMs } from './enqueue-options.ts';
import type { TaskName, TaskQueue, EnqueueOptions, WorkOptions } from './task-queue.ts';
import { reportTaskFailure } from './failure-report.ts';

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
    const line = createTaskLine({ name, clock, log, inOwnContext });
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

/** The tasks of one name in this process, waiting and running. */
interface TaskLine {
  enqueue(payload: unknown, options: Required<EnqueueOptions>): void;
  work(handler: (payload: unknown, signal: AbortSignal) => Promise<void>, options: WorkOptions): void;
  close(): Promise<void>;
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

function createTaskLine(parts: {
  name: TaskName;
  clock: Clock;
  log: Logger;
  /** Runs a function outside of the caller's asynchronous context. */
  inOwnContext: (callback: () => void) => void;
}): TaskLine {
  const { name, clock, log, inOwnContext } = parts;
  const tasks = new Map<string, Task>();
  const running = new Set<Promise<void>>();
  const stopping = new AbortController();
  const waiting = createWaitingRoom<Task>({ clock, wake: pumpSoon });
  let work: Work | undefined;
  let pumping = false;

  // One turn of the event loop between two rounds, so that handlers without I/O cannot starve the rest.
  function pumpSoon(): void {
    if (pumping) return;
    pumping = true;
    inOwnContext(() => setImmediate(pump));
  }

  function pump(): void {
    pumping = false;
    while (work && !stopping.signal.aborted && running.size < work.concurrency) {
      const task = waiting.take();
      if (!task) return;
      const done = run(task, work).finally(() => {
        running.delete(done);
        pumpSoon();
      });
      running.add(done);
    }
  }

  async function run(task: Task, { handler, attempts, backoffMs }: Work): Promise<void> {
    task.running = true;
    try {
      await handler(task.payload, stopping.signal);
      finish(task);
    } catch (error) {
      if (stopping.signal.aborted) return;
      task.failures += 1;
      const pauseMs = task.failures < attempts ? backoffDelayMs(backoffMs, task.failures) : null;
      reportTaskFailure(log, { task: name, key: task.key, failures: task.failures, pauseMs, err: error });
      if (pauseMs === null) finish(task);
      else retry(task, pauseMs);
    }
  }

  function finish(task: Task): void {
    tasks.delete(task.key);
    if (!task.next) return;
    tasks.set(task.key, task.next);
    waiting.add(task.next);
  }

  function retry(task: Task, pauseMs: number): void {
    task.running = false;
    task.dueMs = clock.now().getTime() + pauseMs;
    waiting.add(task);
  }

  function hurry(task: Task, dueMs: number, priority: number): void {
    if (task.dueMs <= dueMs && task.priority <= priority) return;
    const waits = waiting.remove(task);
    task.dueMs = Math.min(task.dueMs, dueMs);
    task.priority = Math.min(task.priority, priority);
    if (waits) waiting.add(task);
  }

  return {
    enqueue(payload, { key, delayMs, priority }) {
      const dueMs = clock.now().getTime() + delayMs;
      const twin = tasks.get(key);
      const waitingTwin = twin?.running ? twin.next : twin;
      if (waitingTwin) {
        if (waitingTwin.failures === 0) hurry(waitingTwin, dueMs, priority);
        return;
      }
      const task: Task = { key, payload, dueMs, priority, failures: 0, running: false };
      if (twin) twin.next = task;
      else {
        tasks.set(key, task);
        waiting.add(task);
      }
    },
    work(handler, { concurrency, attempts = defaultAttempts, backoffMs = defaultBackoffMs }) {
      if (work) throw new MemorydError('conflict', `This process already works on ${name}.`);
      work = { handler, concurrency, attempts, backoffMs };
      pumpSoon();
    },
    async close() {
      stopping.abort();
      waiting.close();
      await Promise.all(running);
    },
  };
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
interface WaitingRoom<Item extends Waiting> {
  /** `wake` is called as soon as it can be taken. */
  add(item: Item): void;
  /** True when it was waiting. Must be called before its fields change. */
  remove(item: Item): boolean;
  /** The due item with the smallest priority; within one priority the one that has been due longest. */
  take(): Item | undefined;
  close(): void;
}

export function createWaitingRoom<Item extends Waiting>(options: {
  clock: Clock;
  wake: () => void;
}): WaitingRoom<Item> {
  const { clock, wake } = options;
  const due = new Map<number, Set<Item>>();
  const later = new Set<Item>();
  let timer = new AbortController();
  let timerMs = Infinity;

  function addDue(item: Item): void {
    const peers = due.get(item.priority);
    if (peers) peers.add(item);
    else due.set(item.priority, new Set([item]));
  }

  function removeDue(item: Item): boolean {
    const peers = due.get(item.priority);
    if (!peers?.delete(item)) return false;
    if (peers.size === 0) due.delete(item.priority);
    return true;
  }

  function setTimer(dueMs: number): void {
    timer.abort();
    timer = new AbortController();
    timerMs = dueMs;
    if (dueMs === Infinity) return;
    const { signal } = timer;
    const sleepMs = Math.min(Math.max(0, dueMs - clock.now().getTime()), maxSleepMs);
    void clock.sleep(sleepMs, signal).then(() => {
      if (!signal.aborted) promote();
    });
  }

  function promote(): void {
    const nowMs = clock.now().getTime();
    let nextMs = Infinity;
    for (const item of [...later].sort((a, b) => a.dueMs - b.dueMs)) {
      if (item.dueMs > nowMs) {
        nextMs = item.dueMs;
        break;
      }
      later.delete(item);
      addDue(item);
    }
    setTimer(nextMs);
    wake();
  }

  return {
    add(item) {
      if (item.dueMs > clock.now().getTime()) {
        later.add(item);
        if (item.dueMs < timerMs) setTimer(item.dueMs);
        return;
      }
      addDue(item);
      wake();
    },
    remove: (item) => later.delete(item) || removeDue(item),
    take() {
      if (due.size === 0) return undefined;
      const [item] = valueOf(due, Math.min(...due.keys()));
      removeDue(item!);
      return item;
    },
    close() {
      timer.abort();
      timerMs = -Infinity;
    },
  };
}
