import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { silentLogger } from '../../../src/base/log.ts';
import { createInProcessQueue } from '../../../src/queue/in-process.ts';
import { createTestClock, type TestClock } from '../../support/clock.ts';
import type { TaskQueue } from '../../../src/queue/task-queue.ts';

const minuteMs = 60_000;

interface Scene {
  clock: TestClock;
  queue: TaskQueue;
  /** Slots and the minutes at which their handlers started. */
  starts: [slot: number, minute: number][];
  /** Moves the clock and lets what is due start. */
  advance(ms: number): Promise<void>;
}

async function openScene(
  handler: (slot: number, run: number) => Promise<void> = async () => {},
  options: { attempts?: number; backoffMs?: number } = {},
): Promise<Scene> {
  const clock = createTestClock();
  const startMs = clock.now().getTime();
  const queue = createInProcessQueue({ clock, log: silentLogger });
  onTestFinished(() => queue.close());
  const starts: Scene['starts'] = [];
  await queue.work(
    'process-documents',
    async ({ slot }) => {
      starts.push([slot, (clock.now().getTime() - startMs) / minuteMs]);
      await handler(slot, starts.length);
    },
    { concurrency: 1, ...options },
  );
  const settle = async () => {
    for (let round = 0; round < 20; round++) await turn();
  };
  await settle();
  return {
    clock,
    queue,
    starts,
    async advance(ms) {
      clock.advance(ms);
      await settle();
    },
  };
}

const enqueue = (queue: TaskQueue, slot: number) => queue.enqueue('process-documents', { slot }, { key: `${slot}` });

describe('in-process queue', () => {
  it('doubles the pause after each failure and starts anew after the last', async () => {
    const fail = async () => {
      throw new Error('broken');
    };
    const { queue, starts, advance } = await openScene(fail, { attempts: 4, backoffMs: minuteMs });
    await enqueue(queue, 1);
    await advance(0);
    for (let minute = 0; minute < 20; minute++) await advance(minuteMs);
    expect(starts.map(([, minute]) => minute)).toEqual([0, 1, 3, 7]);
    await enqueue(queue, 1);
    await advance(0);
    await advance(minuteMs);
    expect(starts.slice(4).map(([, minute]) => minute)).toEqual([20, 21]);
  });

  it('keeps a twin that arrived during a failing attempt until the task is done', async () => {
    const gate = Promise.withResolvers<void>();
    const failOnce = async (_: number, run: number) => {
      if (run > 1) return;
      await gate.promise;
      throw new Error('broken');
    };
    const { queue, starts, advance } = await openScene(failOnce, { backoffMs: minuteMs });
    await enqueue(queue, 1);
    await advance(0);
    await enqueue(queue, 1);
    gate.resolve();
    await advance(0);
    expect(starts).toHaveLength(1);
    await advance(minuteMs);
    expect(starts).toHaveLength(3);
  });

  it('leaves the event loop its turns between handlers without I/O', async () => {
    const { queue, starts } = await openScene(async (slot) => void (slot < 5_000 && (await enqueue(queue, slot + 1))));
    await enqueue(queue, 0);
    for (let round = 0; round < 100; round++) await turn();
    expect(starts.length).toBeLessThan(200);
    expect(starts.length).toBeGreaterThan(10);
  });
});
