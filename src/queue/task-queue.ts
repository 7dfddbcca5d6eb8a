import type { Logger } from '../base/log.ts';

/**
 * Wakes workers. The database is the truth of what must be done; a task only says "look now".
 * So every handler must be safe to run twice, late, or not at all (the sweep repairs that).
 */
export interface TaskQueue {
  readonly kind: 'in-process' | 'bullmq';
  /**
   * Adds a task. While a task with the same name and key waits, another one is the same task.
   * One that arrives while its twin runs is kept and runs after it.
   */
  enqueue<Name extends TaskName>(name: Name, payload: TaskPayloads[Name], options: EnqueueOptions): Promise<void>;
  /** Starts handling a task. Called once per name and process. A handler that throws is tried again with back-off. */
  work<Name extends TaskName>(name: Name, handler: TaskHandler<Name>, options: WorkOptions): Promise<void>;
  /** Throws `queue_unreachable` when the queue's server does not answer. */
  check(): Promise<void>;
  /** Stops taking tasks, aborts the signal of running handlers, waits for them to end. */
  close(): Promise<void>;
}

/** Payloads carry ids only; the worker reads the rest from the database. */
export interface TaskPayloads {
  /** Claim queued documents in batches until there are none. `slot` lets several run at once. */
  'process-documents': { slot: number };
  /** Run what is due for one connection. */
  'sync-connection': { connectionId: string };
  /** Help the run that is under way for one connection. `slot` lets several do so at once. */
  'fetch-items': { connectionId: string; slot: number };
}
export type TaskName = keyof TaskPayloads;

export interface EnqueueOptions {
  /** Tasks of one name with the same key are one task. */
  key: string;
}

export interface WorkOptions {
  /** Handlers of this task that run at once in this process. */
  concurrency: number;
  /** Attempts at a task whose handler throws, the first included. Default 5. */
  attempts?: number;
  /** First pause before another attempt; it doubles each time. Default 1,000. */
  backoffMs?: number;
}

export type TaskHandler<Name extends TaskName> = (payload: TaskPayloads[Name], signal: AbortSignal) => Promise<void>;

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
