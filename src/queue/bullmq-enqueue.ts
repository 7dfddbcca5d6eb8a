import { Job, type Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import type { EnqueueOptions } from './task-queue.ts';

/** BullMQ knows no negative priorities and takes smaller ones first; all of ours are moved above zero. */
const priorityOffset = 1_000_000;

interface NewTask extends Required<EnqueueOptions> {
  /** A fresh id; BullMQ answers another one when a twin stands for the task. */
  id: string;
  payload: unknown;
  now: Date;
}

/**
 * Adds a job unless a twin waits. Of a twin that waits, its time and priority become the better of
 * the two; a task that arrives while its twin runs is kept by BullMQ and added when that one ends.
 */
export async function addJob(redis: Redis, queue: Queue, task: NewTask): Promise<void> {
  const { id, key, delayMs } = task;
  const priority = task.priority + priorityOffset;
  if (delayMs > 0 && (await keptTwinIsSooner(redis, queue, key, delayMs))) return;
  const job = await queue.add(queue.name, task.payload, {
    jobId: id,
    delay: delayMs,
    priority,
    deduplication: { id: key, keepLastIfActive: true },
    // The worker's back-off strategy ends the attempts; who enqueues cannot know how many it makes.
    attempts: 1_000_000,
    backoff: { type: 'custom' },
    removeOnComplete: true,
    removeOnFail: true,
    stackTraceLimit: 0,
  });
  if (job.id === id) return;
  const twin = await Job.fromId(queue, job.id!);
  if (twin) await hurry(redis, queue, twin, { priority, delayMs, now: task.now });
}

/**
 * BullMQ keeps the options of the newest task that arrives while its twin runs, in the hash
 * `dn:<key>`. One that may wait must not push back one that should run at once.
 */
async function keptTwinIsSooner(redis: Redis, queue: Queue, key: string, delayMs: number): Promise<boolean> {
  const options = await redis.hget(queue.toKey(`dn:${key}`), 'opts');
  if (options === null) return false;
  const { delay = 0 } = JSON.parse(options) as { delay?: number };
  return delay <= delayMs;
}

async function hurry(
  redis: Redis,
  queue: Queue,
  twin: Job,
  task: { priority: number; delayMs: number; now: Date },
): Promise<void> {
  const pausesAfterFailure = twin.attemptsMade > 0;
  if (pausesAfterFailure) return;
  if (twin.priority > task.priority) await ignoreGone(twin.changePriority({ priority: task.priority }));
  const dueMs = await delayedUntilMs(redis, queue, twin.id!);
  if (dueMs > task.now.getTime() + task.delayMs) await ignoreGone(twin.changeDelay(task.delayMs));
}

/** Zero when the job is not delayed. Scores of delayed jobs are milliseconds times 4096, plus a counter. */
async function delayedUntilMs(redis: Redis, queue: Queue, jobId: string): Promise<number> {
  const score = await redis.zscore(queue.toKey('delayed'), jobId);
  return score === null ? 0 : Math.floor(Number(score) / 4096);
}

/** A twin that started or ended in the meantime needs no change: it started after the task was enqueued. */
async function ignoreGone(change: Promise<void>): Promise<void> {
  try {
    await change;
  } catch (error) {
    const isJobState = error instanceof Error && 'code' in error && typeof error.code === 'number';
    if (!isJobState) throw error;
  }
}
