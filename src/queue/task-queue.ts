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
  delayMs?: number;
  /** Smaller runs first; 0 is the default. */
  priority?: number;
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
