import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { WaitingRoom } from '../../../src/queue/in-process.ts';
import { createTestClock } from '../../support/clock.ts';

const items = fc.array(fc.record({ delayMs: fc.nat(50), priority: fc.integer({ min: -3, max: 3 }) }), {
  maxLength: 60,
});

describe('waiting room', () => {
  it('gives each item once, never early, by priority and then by time', async () => {
    let taken = 0;
    await fc.assert(
      fc.asyncProperty(items, fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 8 }), async (waiting, steps) => {
        const clock = createTestClock();
        const startMs = clock.now().getTime();
        const room = new WaitingRoom<{ dueMs: number; priority: number }>({ clock, wake: () => {} });
        for (const { delayMs, priority } of waiting) room.add({ dueMs: startMs + delayMs, priority });
        let left = waiting.length;
        for (const stepMs of [...steps, 50]) {
          clock.advance(stepMs);
          await Promise.resolve();
          const nowMs = clock.now().getTime();
          const round = [];
          for (let item = room.take(); item; item = room.take()) round.push(item);
          expect(round.every((item) => item.dueMs <= nowMs)).toBe(true);
          expect(round).toEqual(round.toSorted((a, b) => a.priority - b.priority || a.dueMs - b.dueMs));
          left -= round.length;
          taken += round.length;
        }
        expect(left).toBe(0);
        room.close();
      }),
    );
    expect(taken).toBeGreaterThan(100);
  });

  it('gives what was removed no more', () => {
    const clock = createTestClock();
    const room = new WaitingRoom<{ dueMs: number; priority: number }>({ clock, wake: () => {} });
    const now = { dueMs: clock.now().getTime(), priority: 1 };
    const later = { dueMs: clock.now().getTime() + 5, priority: 1 };
    for (const item of [now, later]) room.add(item);
    for (const item of [now, later]) expect(room.remove(item)).toBe(true);
    expect(room.remove(now)).toBe(false);
    clock.advance(10);
    expect(room.take()).toBeUndefined();
  });
});
