import { MemorydError } from '../base/errors.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { backoffDelayMs, defaultAttempts, defaultBackoffMs } from './enqueue-options.ts';
import { reportTaskFailure } from './failure-report.ts';
import { createWaitingRoom } from './waiting-room.ts';
import type { EnqueueOptions, TaskName, WorkOptions } from './task-queue.ts';

/** The tasks of one name in this process, waiting and running. */
export interface TaskLane {
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

export function createTaskLane(parts: {
  name: TaskName;
  clock: Clock;
  log: Logger;
  /** Runs a function outside of the caller's asynchronous context. */
  inOwnContext: (callback: () => void) => void;
}): TaskLane {
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
