import { inspect } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/log.ts';
import { MemorydError } from '../../src/base/errors.ts';
import { openBullmqQueue } from '../../src/queue/bullmq.ts';
import type { TaskQueue } from '../../src/queue/task-queue.ts';
import { freePort, redisServerProgram, startPrivateRedis, type PrivateRedis } from '../support/redis-server.ts';
import { describeWhen } from '../support/services.ts';
import { startWorker } from '../support/worker-process.ts';

interface Scene {
  redis: PrivateRedis;
  queue: TaskQueue;
  /** Slots in the order in which handlers ended. */
  handled: number[];
  logLines: string[];
  /** Begins to handle tasks. */
  work(): Promise<void>;
}

/** A Redis and a queue of one test, whose tasks are handled at once unless they are to wait. `handler` runs before the slot is noted. */
async function openScene(
  options: { appendOnly?: boolean; waits?: boolean; handler?: (slot: number) => Promise<void> } = {},
): Promise<Scene> {
  const redis = await startPrivateRedis({ appendOnly: options.appendOnly ?? false });
  onTestFinished(() => redis[Symbol.asyncDispose]());
  const logLines: string[] = [];
  const log = createLogger('debug', { write: (line) => void logLines.push(line) });
  const queue = await openBullmqQueue({ url: redis.url, clock: systemClock, log });
  onTestFinished(() => queue.close());
  const handled: number[] = [];
  const handler = async ({ slot }: { slot: number }) => {
    await options.handler?.(slot);
    handled.push(slot);
  };
  const work = () => queue.work('process-documents', handler, { concurrency: 2 });
  if (!options.waits) await work();
  return { redis, queue, handled, logLines, work };
}

const enqueue = (queue: TaskQueue, slot: number) =>
  queue.enqueue('process-documents', { slot }, { key: `slot ${slot}` });

/** What it fails with. It must fail, or end, by itself: a call that waits for Redis runs into the test's time limit. */
const failureOf = (run: () => Promise<unknown>): Promise<unknown> =>
  run().then(
    () => undefined,
    (thrown: unknown) => thrown,
  );

const sorted = (slots: readonly number[]) => slots.toSorted((a, b) => a - b);

const soon = { timeout: 10_000, interval: 50 };

describeWhen(redisServerProgram, 'redis-server is not installed', 'BullMQ queue when Redis fails', () => {
  it('goes on after FLUSHALL, with the same keys, while a task runs', { timeout: 30_000 }, async () => {
    const gate = Promise.withResolvers<void>();
    const started: number[] = [];
    const { redis, queue, handled } = await openScene({
      handler: async (slot) => {
        started.push(slot);
        if (slot === 1 && started.length === 1) await gate.promise;
      },
    });
    await enqueue(queue, 1);
    await expect.poll(() => started, soon).toEqual([1]);
    await enqueue(queue, 1);
    await redis.command('FLUSHALL');

    await enqueue(queue, 1);
    await enqueue(queue, 2);
    await expect.poll(() => sorted(handled), soon).toEqual([1, 2]);
    gate.resolve();
    await expect.poll(() => handled.length, soon).toBe(3);
    for (let round = 0; round < 20; round++) {
      await enqueue(queue, round);
      await expect.poll(() => handled.length, soon).toBe(4 + round);
    }
  });

  it('keeps what waited through a restart with an append-only file', { timeout: 30_000 }, async () => {
    const { redis, queue, handled, logLines, work } = await openScene({ appendOnly: true, waits: true });
    for (let slot = 0; slot < 5; slot++) await enqueue(queue, slot);
    await redis.kill();
    await redis.start();
    await work();
    await expect.poll(() => sorted(handled), soon).toEqual([0, 1, 2, 3, 4]);
    await enqueue(queue, 9);
    await expect.poll(() => handled, soon).toContain(9);
    expect(logLines.filter((line) => line.includes('queue connection lost'))).toHaveLength(1);
    expect(logLines.filter((line) => line.includes('queue connection restored'))).toHaveLength(1);
  });

  it('goes on after a restart that lost everything', { timeout: 30_000 }, async () => {
    const { redis, queue, handled, work } = await openScene({ waits: true });
    await enqueue(queue, 1);
    await redis.kill();
    await redis.start();
    await work();
    await expect.poll(() => failureOf(() => enqueue(queue, 1)), soon).toBeUndefined();
    await expect.poll(() => handled, soon).toEqual([1]);
  });

  it('survives a restart while handlers run', { timeout: 30_000 }, async () => {
    const gate = Promise.withResolvers<void>();
    const { redis, queue, handled } = await openScene({ appendOnly: true, handler: () => gate.promise });
    await enqueue(queue, 1);
    await enqueue(queue, 2);
    await redis.kill();
    gate.resolve();
    await redis.start();
    await expect.poll(() => new Set(handled), soon).toEqual(new Set([1, 2]));
    await enqueue(queue, 3);
    await expect.poll(() => handled, soon).toContain(3);
  });

  it('answers a caller while Redis is away, and works again afterwards', { timeout: 30_000 }, async () => {
    const { redis, queue, handled } = await openScene();
    await redis.kill();
    for (const call of [() => enqueue(queue, 1), () => queue.check()]) {
      const error = await failureOf(call);
      expect(error).toMatchObject({ code: 'queue_unreachable' });
    }
    await redis.start();
    await expect.poll(() => failureOf(() => queue.check()), soon).toBeUndefined();
    await enqueue(queue, 3);
    await expect.poll(() => handled, soon).toContain(3);
  });

  it('answers a caller when Redis accepts connections and says nothing', { timeout: 40_000 }, async () => {
    const { redis, queue, handled } = await openScene();
    redis.freeze();
    for (let round = 0; round < 3; round++) {
      const error = await failureOf(() => enqueue(queue, 1));
      expect(error).toMatchObject({ code: 'queue_unreachable' });
    }
    redis.thaw();
    await expect.poll(() => failureOf(() => enqueue(queue, 2)), soon).toBeUndefined();
    await expect.poll(() => handled, soon).toContain(2);
  });

  it('starts to work, and to take tasks, while Redis is away', { timeout: 30_000 }, async () => {
    const redis = await startPrivateRedis({ appendOnly: false });
    onTestFinished(() => redis[Symbol.asyncDispose]());
    const queue = await openBullmqQueue({ url: redis.url, clock: systemClock, log: createLogger('silent') });
    onTestFinished(() => queue.close());
    await redis.kill();
    const connectionIds: string[] = [];
    const handler = async ({ connectionId }: { connectionId: string }) => void connectionIds.push(connectionId);
    await queue.work('sync-connection', handler, { concurrency: 1 });
    const sync = () => queue.enqueue('sync-connection', { connectionId: 'c' }, { key: 'c' });
    expect(await failureOf(sync)).toMatchObject({ code: 'queue_unreachable' });
    await redis.start();
    await expect.poll(() => failureOf(sync), soon).toBeUndefined();
    await expect.poll(() => connectionIds, soon).toContain('c');
  });

  it('closes while Redis is away', { timeout: 30_000 }, async () => {
    const { redis, queue } = await openScene();
    await enqueue(queue, 1);
    await redis.kill();
    const error = await failureOf(() => queue.close());
    expect(error).toBeUndefined();
  });

  it('closes while Redis is away and a handler runs', { timeout: 30_000 }, async () => {
    let started = false;
    const { redis, queue, handled } = await openScene({
      handler: async () => {
        started = true;
        await sleep(300);
      },
    });
    await enqueue(queue, 1);
    await expect.poll(() => started, soon).toBe(true);
    await redis.kill();
    await queue.close();
    expect(handled).toEqual([1]);
  });

  it('lets its process end while Redis is away', { timeout: 30_000 }, async () => {
    const redis = await startPrivateRedis({ appendOnly: false });
    onTestFinished(() => redis[Symbol.asyncDispose]());
    const worker = startWorker(redis.url, 'memoryd', 0);
    onTestFinished(() => worker.kill());
    await worker.says('ready');
    await redis.kill();
    await worker.end();
  });

  it('says who refused, never the password', { timeout: 30_000 }, async () => {
    const redis = await startPrivateRedis({ appendOnly: false, password: 'right-canary' });
    onTestFinished(() => redis[Symbol.asyncDispose]());
    const url = redis.url.replace('right-canary', 'wrong-canary');
    await expectUnreachable(url, new URL(url).host);
  });
});

describe('BullMQ queue without Redis', () => {
  it('says at the start where nobody answers and what to do, never the password', { timeout: 20_000 }, async () => {
    const port = await freePort();
    await expectUnreachable(`redis://user:wrong-canary@127.0.0.1:${port}`, `127.0.0.1:${port}`);
  });

  it('refuses what is no Redis URL without repeating it', async () => {
    for (const url of ['wrong-canary', 'http://user:wrong-canary@host', '']) {
      const error = await openBullmqQueue({ url, clock: systemClock, log: createLogger('silent') }).catch(
        (thrown: unknown) => thrown,
      );
      expect(error).toMatchObject({ code: 'config_invalid' });
      expect(inspect(error, { depth: 9 })).not.toContain('canary');
    }
  });
});

async function expectUnreachable(url: string, host: string): Promise<void> {
  const lines: string[] = [];
  const log = createLogger('debug', { write: (line) => void lines.push(line) });
  const error = await failureOf(() => openBullmqQueue({ url, clock: systemClock, log }));
  expect(MemorydError.is(error)).toBe(true);
  expect(error).toMatchObject({ code: 'queue_unreachable', remedy: expect.stringContaining('MEMORYD_REDIS_URL') });
  expect((error as MemorydError).message).toContain(host);
  expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('canary');
  expect(lines.join('')).not.toContain('canary');
}
