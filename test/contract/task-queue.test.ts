import { AsyncLocalStorage } from 'node:async_hooks';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger, silentLogger, type Logger } from '../../src/base/log.ts';
import { openBullmqQueue } from '../../src/queue/bullmq.ts';
import { createInProcessQueue } from '../../src/queue/in-process.ts';
import type { TaskQueue } from '../../src/queue/task-queue.ts';
import { removeKeys, uniquePrefix } from '../support/redis-keys.ts';
import { describeWithService } from '../support/services.ts';

type OpenQueue = (log?: Logger) => Promise<TaskQueue>;

/** A handler's task that ends when the test says so. */
function createGate(): { promise: Promise<void>; open: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { promise, open: resolve };
}

function contract(open: OpenQueue): void {
  const opened: TaskQueue[] = [];
  const openQueue = async (log?: Logger) => {
    const queue = await open(log);
    opened.push(queue);
    return queue;
  };
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((queue) => queue.close()));
  });

  it('handles every task once, with its payload', async () => {
    const queue = await openQueue();
    const slots: number[] = [];
    await queue.work('process-documents', async ({ slot }) => void slots.push(slot), { concurrency: 4 });
    for (let slot = 0; slot < 100; slot++) await queue.enqueue('process-documents', { slot }, { key: `slot ${slot}` });
    await expect.poll(() => slots.length).toBe(100);
    expect(slots.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, slot) => slot));
  });

  it('keeps tasks until somebody works on them', async () => {
    const queue = await openQueue();
    await queue.enqueue('process-documents', { slot: 7 }, { key: 'a' });
    const slots: number[] = [];
    await queue.work('process-documents', async ({ slot }) => void slots.push(slot), { concurrency: 1 });
    await expect.poll(() => slots).toEqual([7]);
  });

  it('takes tasks of one name and key as one while they wait, and keeps names apart', async () => {
    const queue = await openQueue();
    const handled: string[] = [];
    for (let round = 0; round < 3; round++) {
      await queue.enqueue('process-documents', { slot: 1 }, { key: 'same' });
      await queue.enqueue('sync-connection', { connectionId: 'c1' }, { key: 'same' });
    }
    await queue.enqueue('process-documents', { slot: 2 }, { key: 'other' });
    await queue.work('process-documents', async ({ slot }) => void handled.push(`slot ${slot}`), { concurrency: 1 });
    await queue.work('sync-connection', async ({ connectionId }) => void handled.push(connectionId), {
      concurrency: 1,
    });
    await expect.poll(() => handled.toSorted()).toEqual(['c1', 'slot 1', 'slot 2']);
    await queue.enqueue('process-documents', { slot: 3 }, { key: 'last' });
    await expect.poll(() => handled).toContain('slot 3');
    expect(handled).toHaveLength(4);
  });

  it('handles a key again after it was handled', async () => {
    const queue = await openQueue();
    let count = 0;
    await queue.work('process-documents', async () => void count++, { concurrency: 1 });
    for (let round = 1; round <= 3; round++) {
      await queue.enqueue('process-documents', { slot: 1 }, { key: 'same' });
      await expect.poll(() => count).toBe(round);
    }
  });

  it('runs a twin that arrives while a task runs after it, once and never beside it', async () => {
    const queue = await openQueue();
    const gate = createGate();
    const events: string[] = [];
    let run = 0;
    const handler = async () => {
      const number = ++run;
      events.push(`start ${number}`);
      if (number === 1) await gate.promise;
      events.push(`end ${number}`);
    };
    await queue.work('sync-connection', handler, { concurrency: 5 });
    await queue.enqueue('sync-connection', { connectionId: 'c' }, { key: 'c' });
    await expect.poll(() => events).toEqual(['start 1']);
    for (let twin = 0; twin < 3; twin++) {
      await queue.enqueue('sync-connection', { connectionId: 'c' }, { key: 'c' });
    }
    await queue.enqueue('sync-connection', { connectionId: 'other' }, { key: 'other' });
    await expect.poll(() => events).toEqual(['start 1', 'start 2', 'end 2']);
    gate.open();
    await expect.poll(() => events.slice(3)).toEqual(['end 1', 'start 3', 'end 3']);
    await queue.enqueue('sync-connection', { connectionId: 'last' }, { key: 'last' });
    await expect.poll(() => run).toBe(4);
  });

  it('takes those that wait in the order in which they came', async () => {
    const queue = await openQueue();
    const order: number[] = [];
    for (let slot = 0; slot < 5; slot++) await queue.enqueue('process-documents', { slot }, { key: `${slot}` });
    await queue.enqueue('process-documents', { slot: 0 }, { key: '0' });
    await queue.work('process-documents', async ({ slot }) => void order.push(slot), { concurrency: 1 });
    await expect.poll(() => order).toEqual([0, 1, 2, 3, 4]);
  });

  it('tries again with doubling pauses, which a twin does not shorten', async () => {
    const queue = await openQueue();
    const times: number[] = [];
    const handler = async () => {
      times.push(performance.now());
      if (times.length < 4) throw new Error('not yet');
    };
    await queue.work('process-documents', handler, { concurrency: 1, attempts: 4, backoffMs: 100 });
    await queue.enqueue('process-documents', { slot: 1 }, { key: 'a' });
    await expect.poll(() => times.length).toBeGreaterThanOrEqual(2);
    await queue.enqueue('process-documents', { slot: 1 }, { key: 'a' });
    await expect.poll(() => times.length, { timeout: 5_000 }).toBe(4);
    const pauses = times.slice(1).map((time, index) => time - times[index]!);
    expect(pauses[0]).toBeGreaterThanOrEqual(98);
    expect(pauses[1]).toBeGreaterThanOrEqual(198);
    expect(pauses[2]).toBeGreaterThanOrEqual(398);
  });

  it('gives a task up after its attempts, says so without its payload, and takes its key again', async () => {
    const lines: string[] = [];
    const queue = await openQueue(createLogger('debug', { write: (line) => void lines.push(line) }));
    let count = 0;
    const handler = async () => {
      count++;
      if (count <= 3) throw Object.assign(new Error('broken'), { headers: { authorization: 'canary-secret' } });
    };
    await queue.work('sync-connection', handler, { concurrency: 1, attempts: 3, backoffMs: 10 });
    await queue.enqueue('sync-connection', { connectionId: 'canary-payload' }, { key: 'a' });
    await expect.poll(() => lines.filter((line) => line.includes('task given up'))).toHaveLength(1);
    expect(lines.filter((line) => line.includes('is tried again'))).toHaveLength(2);
    expect(lines.find((line) => line.includes('given up'))).toContain('"failures":3');
    expect(lines.join('')).toContain('broken');
    expect(lines.join('')).not.toContain('canary');
    expect(count).toBe(3);
    await queue.enqueue('sync-connection', { connectionId: 'canary-payload' }, { key: 'a' });
    await expect.poll(() => count).toBe(4);
  });

  it('runs a twin that arrived during the last failing attempt', async () => {
    const queue = await openQueue();
    const gate = createGate();
    let run = 0;
    const handler = async () => {
      if (++run > 1) return;
      await gate.promise;
      throw new Error('broken');
    };
    await queue.work('sync-connection', handler, { concurrency: 1, attempts: 1 });
    await queue.enqueue('sync-connection', { connectionId: 'c' }, { key: 'c' });
    await expect.poll(() => run).toBe(1);
    await queue.enqueue('sync-connection', { connectionId: 'c' }, { key: 'c' });
    gate.open();
    await expect.poll(() => run).toBe(2);
  });

  it('runs as many at once as the concurrency says, and no more', async () => {
    const queue = await openQueue();
    const gate = createGate();
    let active = 0;
    let most = 0;
    let done = 0;
    const handler = async () => {
      most = Math.max(most, ++active);
      await gate.promise;
      active--;
      done++;
    };
    await queue.work('process-documents', handler, { concurrency: 3 });
    for (let slot = 0; slot < 12; slot++) await queue.enqueue('process-documents', { slot }, { key: `${slot}` });
    await expect.poll(() => active).toBe(3);
    gate.open();
    await expect.poll(() => done).toBe(12);
    expect(most).toBe(3);
  });

  it('aborts running handlers on close, waits for them, and starts nothing more', async () => {
    const queue = await openQueue();
    const events: string[] = [];
    const handler = async ({ slot }: { slot: number }, signal: AbortSignal) => {
      events.push(`start ${slot}`);
      await once(signal, 'abort');
      await sleep(50);
      events.push(`end ${slot}`);
    };
    await queue.work('process-documents', handler, { concurrency: 1 });
    await queue.enqueue('process-documents', { slot: 1 }, { key: '1' });
    await queue.enqueue('process-documents', { slot: 2 }, { key: '2' });
    await expect.poll(() => events).toEqual(['start 1']);
    await queue.close();
    expect(events).toEqual(['start 1', 'end 1']);
    await queue.close();
    await sleep(50);
    expect(events).toEqual(['start 1', 'end 1']);
  });

  it('refuses everything after close', async () => {
    const queue = await openQueue();
    await queue.check();
    await queue.close();
    const unavailable = { code: 'unavailable' };
    await expect(queue.enqueue('process-documents', { slot: 1 }, { key: '1' })).rejects.toMatchObject(unavailable);
    await expect(queue.work('process-documents', async () => {}, { concurrency: 1 })).rejects.toMatchObject(
      unavailable,
    );
    await expect(queue.check()).rejects.toMatchObject(unavailable);
  });

  it('refuses a second handler for a name', async () => {
    const queue = await openQueue();
    await queue.work('process-documents', async () => {}, { concurrency: 1 });
    const again = queue.work('process-documents', async () => {}, { concurrency: 1 });
    await expect(again).rejects.toMatchObject({ code: 'conflict' });
  });

  it('does not hand the asynchronous context of the caller to the handler', async () => {
    const context = new AsyncLocalStorage<string>();
    const queue = await openQueue();
    const seen: (string | undefined)[] = [];
    await context.run('worker', async () => {
      await queue.work('process-documents', async () => void seen.push(context.getStore()), { concurrency: 1 });
    });
    await context.run('caller', async () => {
      await queue.enqueue('process-documents', { slot: 1 }, { key: 'now' });
    });
    await expect.poll(() => seen).toHaveLength(1);
    expect(seen).not.toContain('caller');
  });
}

describe('in-process queue', () => {
  contract(async (log = silentLogger) => createInProcessQueue({ clock: systemClock, log }));
});

describeWithService('REDIS_URL', 'BullMQ queue', (url) => {
  let prefix = uniquePrefix();
  afterEach(async () => {
    await removeKeys(url, prefix);
    prefix = uniquePrefix();
  });

  contract((log = silentLogger) => openBullmqQueue({ url, prefix, clock: systemClock, log }));
});
