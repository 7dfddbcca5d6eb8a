import { AsyncLocalStorage } from 'node:async_hooks';
import { MemorydError } from '../base/errors.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { resolveEnqueueOptions } from './enqueue-options.ts';
import { createTaskLane, type TaskLane } from './task-lane.ts';
import type { TaskName, TaskQueue } from './task-queue.ts';

/**
 * The queue of a single process: tasks live in memory and are gone when it ends, which the sweep
 * over the database repairs. Times come from the clock alone.
 *
 * A task enqueued while its twin waits takes the earlier of the two times and the smaller of the
 * two priorities. A twin that waits for another attempt keeps its pause.
 */
export function createInProcessQueue({ clock, log }: { clock: Clock; log: Logger }): TaskQueue {
  const lanes = new Map<TaskName, TaskLane>();
  // A handler must not inherit the asynchronous context (an open transaction) of whoever enqueued its task.
  const inOwnContext = AsyncLocalStorage.snapshot();
  let closed = false;

  function laneOf(name: TaskName): TaskLane {
    const existing = lanes.get(name);
    if (existing) return existing;
    const lane = createTaskLane({ name, clock, log, inOwnContext });
    lanes.set(name, lane);
    return lane;
  }

  function requireOpen(): void {
    if (closed) throw new MemorydError('unavailable', 'The task queue is closed.');
  }

  return {
    kind: 'in-process',
    async enqueue(name, payload, options) {
      const resolved = resolveEnqueueOptions(options);
      requireOpen();
      laneOf(name).enqueue(payload, resolved);
    },
    async work(name, handler, options) {
      requireOpen();
      laneOf(name).work((payload, signal) => handler(payload as Parameters<typeof handler>[0], signal), options);
    },
    async check() {
      requireOpen();
    },
    async close() {
      await Promise.all([...lanes.values()].map((lane) => lane.close()));
      closed = true;
    },
  };
}
