import { MemorydError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { TaskName } from './task-queue.ts';

export interface TaskFailure {
  task: TaskName;
  key: string;
  /** Attempts that have failed, this one included. */
  failures: number;
  /** Milliseconds until the next attempt; null when there is none. */
  pauseMs: number | null;
  error: unknown;
}

/** Logs that a handler threw. Of unknown errors only the stack: their other fields may hold anything. */
export function reportTaskFailure(log: Logger, { task, key, failures, pauseMs, error }: TaskFailure): void {
  const fields = { task, key, failures, pauseMs, ...describe(error) };
  if (pauseMs === null) log.error(fields, 'task given up');
  else log.warn(fields, 'task failed, is tried again');
}

function describe(error: unknown): { code?: string; error: string | undefined } {
  if (MemorydError.is(error)) return { code: error.code, error: error.message };
  return { error: error instanceof Error ? error.stack : String(error) };
}
