import type { Logger } from '../base/log.ts';
import type { TaskName } from './task-queue.ts';

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
