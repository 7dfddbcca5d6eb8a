import { once } from 'node:events';
import { afterEach, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { openBullmqQueue } from '../../src/queue/bullmq.ts';
import { removeKeys, uniquePrefix } from '../support/redis-keys.ts';
import { describeWithService } from '../support/services.ts';
import { startWorker } from '../support/worker-process.ts';

describeWithService('REDIS_URL', 'BullMQ queue of several processes', (url) => {
  let prefix = uniquePrefix();
  const open = () => openBullmqQueue({ url, prefix, clock: systemClock, log: silentLogger });
  afterEach(async () => {
    await removeKeys(url, prefix);
    prefix = uniquePrefix();
  });

  it('gives a task that close interrupts to another process, at once and with all its attempts', async () => {
    const first = await open();
    const second = await open();
    onTestFinished(async () => void (await Promise.all([first.close(), second.close()])));
    let started = false;
    const interrupted = async (_: unknown, signal: AbortSignal) => {
      started = true;
      await once(signal, 'abort');
      throw new Error('interrupted');
    };
    await first.work('process-documents', interrupted, { concurrency: 1, attempts: 1 });
    await first.enqueue('process-documents', { slot: 5 }, { key: 'a' });
    await expect.poll(() => started).toBe(true);
    await first.close();
    const slots: number[] = [];
    await second.work('process-documents', async ({ slot }) => void slots.push(slot), { concurrency: 1, attempts: 1 });
    await expect.poll(() => slots).toEqual([5]);
  });

  it('shares the tasks between processes', async () => {
    const queue = await open();
    const workers = [startWorker(url, prefix, 20), startWorker(url, prefix, 20)];
    onTestFinished(async () => {
      await queue.close();
      await Promise.all(workers.map((worker) => worker.end()));
    });
    await Promise.all(workers.map((worker) => worker.says('ready')));
    for (let slot = 0; slot < 40; slot++) await queue.enqueue('process-documents', { slot }, { key: `${slot}` });
    const ends = () => workers.map((worker) => worker.lines.filter((line) => line.startsWith('end')));
    await expect.poll(() => ends().flat().length, { timeout: 10_000 }).toBe(40);
    expect(new Set(ends().flat()).size).toBe(40);
    for (const lines of ends()) expect(lines.length).toBeGreaterThan(0);
  });

  it('handles the task of a killed process in another one', { timeout: 60_000 }, async () => {
    const queue = await open();
    const worker = startWorker(url, prefix, 600_000);
    onTestFinished(async () => {
      await queue.close();
      await worker.end();
    });
    await worker.says('ready');
    await queue.enqueue('process-documents', { slot: 9 }, { key: 'a' });
    await worker.says('start 9');
    await worker.kill();
    await queue.enqueue('process-documents', { slot: 9 }, { key: 'a' });
    const slots: number[] = [];
    await queue.work('process-documents', async ({ slot }) => void slots.push(slot), { concurrency: 1 });
    await expect.poll(() => slots, { timeout: 40_000, interval: 200 }).toEqual([9, 9]);
  });
});
