import { Queue, WaitingError, Worker, type Job } from 'bullmq';
import { MemorydError } from '../base/errors.ts';
import { newId } from '../base/ids.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { openRedisLink, type RedisLink } from './redis.ts';
import {
  backoffDelayMs,
  defaultAttempts,
  defaultBackoffMs,
  reportTaskFailure,
  type TaskName,
  type TaskQueue,
  type WorkOptions,
  type EnqueueOptions,
  type TaskHandler,
  type TaskPayloads,
} from './task-queue.ts';

/** How long `close` waits for Redis to take the results of handlers that have ended. */
const closeGraceMs = 3_000;

/** A dead worker's task is found once its lock has run out, at the next look of another worker. */
const workerTimes = { lockDuration: 10_000, stalledInterval: 5_000, maxStalledCount: 5, runRetryDelay: 1_000 };

const jobOptions = {
  // The worker's back-off strategy ends the attempts; who enqueues cannot know how many it makes.
  attempts: 1_000_000,
  backoff: { type: 'custom' },
  removeOnComplete: true,
  removeOnFail: true,
  stackTraceLimit: 0,
};

export interface BullmqQueueOptions {
  /** `redis://[user:password@]host[:port][/database]`, or `rediss://` for TLS. */
  url: string;
  /** First part of every key, so that several installations can share a Redis. Default `memoryd`. */
  prefix?: string;
  log: Logger;
  clock: Clock;
}

/**
 * The queue on Redis (5 or newer, `maxmemory-policy noeviction`), for any number of processes.
 * Throws `queue_unreachable` when Redis does not answer.
 *
 * Behaves as the in-process queue does, and more: tasks outlive a process, a dead process's tasks
 * are handled by another one, and a task interrupted by `close` goes back without costing an
 * attempt. While Redis is away `enqueue` throws `queue_unreachable` within two seconds; the task
 * may still be taken later. Redis may lose everything at any moment: new tasks go on, and the sweep
 * finds what the lost ones meant.
 */
export async function openBullmqQueue(options: BullmqQueueOptions): Promise<TaskQueue> {
  return new BullmqQueue(await openRedisLink(options), options);
}

class BullmqQueue implements TaskQueue {
  readonly kind = 'bullmq';
  readonly #link: RedisLink;
  readonly #options: BullmqQueueOptions & { prefix: string };
  readonly #queues = new Map<TaskName, Queue>();
  readonly #workers = new Map<TaskName, Worker>();
  readonly #running = new Set<Promise<void>>();
  readonly #stopping = new AbortController();
  #isClosed = false;

  constructor(link: RedisLink, { prefix = 'memoryd', ...options }: BullmqQueueOptions) {
    this.#link = link;
    this.#options = { prefix, ...options };
  }

  /**
   * Unless a twin waits: a task that arrives while its twin runs is kept by BullMQ and added when that one ends.
   */
  async enqueue<Name extends TaskName>(name: Name, payload: TaskPayloads[Name], { key }: EnqueueOptions) {
    this.#requireOpen();
    const jobId = newId(this.#options.clock.now());
    const deduplication = { id: key, keepLastIfActive: true };
    await this.#link.call(() => this.#queueOf(name).add(name, payload, { ...jobOptions, jobId, deduplication }));
  }

  async work<Name extends TaskName>(
    name: Name,
    handler: TaskHandler<Name>,
    { concurrency, attempts = defaultAttempts, backoffMs = defaultBackoffMs }: WorkOptions,
  ) {
    this.#requireOpen();
    if (this.#workers.has(name)) throw new MemorydError('conflict', `This process already works on ${name}.`);
    const run = (job: Job) => handler(job.data as TaskPayloads[Name], this.#stopping.signal);
    this.#workers.set(name, this.#startWorker(name, run, { concurrency, attempts, backoffMs }));
  }

  async check() {
    this.#requireOpen();
    await this.#link.call(() => this.#link.commands.ping());
  }

  async close() {
    if (this.#isClosed) return;
    this.#stopping.abort();
    const parts = { running: this.#running, link: this.#link, clock: this.#options.clock };
    await closeWorkers([...this.#workers.values()], parts);
    this.#isClosed = true;
    await Promise.all([...this.#queues.values()].map((queue) => queue.close()));
    this.#link.close();
  }

  #requireOpen(): void {
    if (this.#isClosed) throw new MemorydError('unavailable', 'The task queue is closed.');
  }

  #queueOf(name: TaskName): Queue {
    const existing = this.#queues.get(name);
    if (existing) return existing;
    const { prefix, log } = this.#options;
    const queue = new Queue(name, {
      connection: this.#link.commands,
      prefix,
      streams: { events: { maxLen: 100 } },
      // The check is a command; if it failed once, the queue would fail for ever.
      skipVersionCheck: true,
    });
    queue.on('error', (error) => reportQueueError(this.#link, log, name, error));
    this.#queues.set(name, queue);
    return queue;
  }

  #startWorker(name: TaskName, run: (job: Job) => Promise<void>, workOptions: Required<WorkOptions>): Worker {
    const { concurrency, attempts, backoffMs } = workOptions;
    const { prefix, log } = this.#options;
    const worker = new Worker(name, (job, token) => this.#handle(job, token, run), {
      ...workerTimes,
      connection: this.#link.workers,
      prefix,
      concurrency,
      // BullMQ reads minus one as: no further attempt.
      settings: { backoffStrategy: (failures) => (failures < attempts ? backoffDelayMs(backoffMs, failures) : -1) },
    });
    worker.on('error', (error) => reportQueueError(this.#link, log, name, error));
    worker.on('stalled', (jobId) => log.warn({ task: name, jobId }, 'task of a lost worker is handled again'));
    worker.on('failed', (job, error) => reportFailedJob(log, name, job, error));
    return worker;
  }

  /** Runs a handler. What `close` interrupts, or what comes too late, goes back to the queue. */
  async #handle(job: Job, token: string | undefined, run: (job: Job) => Promise<void>): Promise<void> {
    if (!this.#stopping.signal.aborted) {
      try {
        return await this.#whileRunning(run(job));
      } catch (error) {
        if (!this.#stopping.signal.aborted) throw error;
      }
    }
    await job.moveToWait(token);
    throw new WaitingError();
  }

  async #whileRunning(done: Promise<void>): Promise<void> {
    this.#running.add(done);
    try {
      await done;
    } finally {
      this.#running.delete(done);
    }
  }
}

/**
 * Waits for the handlers as long as they take, and for Redis only a moment: it may be away. Then
 * the workers are closed by force, because a graceful close would wait for Redis for ever.
 */
async function closeWorkers(
  workers: readonly Worker[],
  parts: { running: Set<Promise<void>>; link: RedisLink; clock: Clock },
): Promise<void> {
  const { running, link, clock } = parts;
  await Promise.all(workers.map((worker) => worker.pause(true)));
  while (running.size > 0) await Promise.allSettled(running);
  const redisAnswers = await link
    .call(() => link.commands.ping())
    .then(
      () => true,
      () => false,
    );
  const closed = Promise.all(workers.map((worker) => worker.close(!redisAnswers)));
  const grace = new AbortController();
  await Promise.race([closed, clock.sleep(closeGraceMs, grace.signal)]);
  grace.abort();
}

function reportFailedJob(log: Logger, task: TaskName, job: Job | undefined, error: Error): void {
  const pauseMs = job?.finishedOn === undefined ? (job?.delay ?? 0) : null;
  const failures = job?.attemptsMade ?? 0;
  reportTaskFailure(log, { task, key: job?.deduplicationId ?? '', failures, pauseMs, err: error });
}

/** While Redis is away the link has said so; every command's failure would only repeat it. */
function reportQueueError(link: RedisLink, log: Logger, task: TaskName, error: Error): void {
  if (link.isUp()) log.warn({ task, error: error.message }, 'queue error');
}
