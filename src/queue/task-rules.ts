import type { Logger } from '../base/log.ts';
import type { TaskName, EnqueueOptions } from './task-queue.ts';
import { MemorydError } from '../base/errors.ts';

/** Priorities beyond this are refused, so that every adapter can hold them. */
const maxPriority = 1_000_000;

/** Fills in the defaults. Throws `invalid_request` for a value that no adapter could keep. */
export function resolveEnqueueOptions(options: EnqueueOptions): Required<EnqueueOptions> {
  const { key, delayMs = 0, priority = 0 } = options;
  if (key === '') throw new MemorydError('invalid_request', 'A task needs a key that is not empty.');
  if (!Number.isFinite(delayMs) || delayMs < 0) {
    throw new MemorydError('invalid_request', `The delay of a task must be 0 or more milliseconds, not ${delayMs}.`);
  }
  if (!Number.isInteger(priority) || Math.abs(priority) >= maxPriority) {
    throw new MemorydError(
      'invalid_request',
      `The priority of a task must be an integer between -${maxPriority} and ${maxPriority}, not ${priority}.`,
    );
  }
  return { key, delayMs, priority };
}

/** Defaults of `WorkOptions`. */
export const defaultAttempts = 5;
export const defaultBackoffMs = 1_000;

/** The pause after the given number of failures, which is 1 or more. */
export function backoffDelayMs(backoffMs: number, failures: number): number {
  return backoffMs * 2 ** (failures - 1);
}

export interface TaskFailure {
  task: TaskName;
  key: string;
  /** Attempts that have failed, this one included. */
  failures: number;
  /** Milliseconds until the next attempt; null when there is none. */
  pauseMs: number | null;
  err: unknown;
}

/** Logs that a handler threw, in the same words for every queue. */
export function reportTaskFailure(log: Logger, failure: TaskFailure): void {
  if (failure.pauseMs === null) log.error(failure, 'task given up');
  else log.warn(failure, 'task failed, is tried again');
}
