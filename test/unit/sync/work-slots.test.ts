import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createWorkSlots, floorShares, priorities, type Priority } from '../../../src/sync/work-slots.ts';
import { createTestClock } from '../../support/clock.ts';

/** Lets every promise that can go on go on. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

interface Step {
  priority: Priority;
  connectionId: string;
  costMs: number;
}

/** A dispatcher whose units end when the test says so. */
function open(slots = 1) {
  const clock = createTestClock();
  const workSlots = createWorkSlots({ count: slots, clock });
  const begun: Step[] = [];
  const running: { step: Step; end: () => void }[] = [];
  const add = (step: Step, signal?: AbortSignal) =>
    workSlots.use(
      step,
      () => {
        begun.push(step);
        return new Promise<void>((resolve) => running.push({ step, end: resolve }));
      },
      signal,
    );
  /** Ends the unit that began first, after its cost, and lets the next begin. */
  async function finishOne(): Promise<void> {
    const unit = running.shift();
    if (!unit) return;
    clock.advance(unit.step.costMs);
    unit.end();
    await settle();
  }
  return { add, begun, running, finishOne };
}

const bulk = (connectionId: string, costMs = 1): Step => ({ priority: 'bulk', connectionId, costMs });
const priority = fc.constantFrom(...priorities);

describe('work slots', () => {
  it('run every unit once, never more at a time than there are slots', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 4 }),
        fc.array(fc.record({ priority, connectionId: fc.constantFrom('a', 'b', 'c'), costMs: fc.nat(20) }), {
          maxLength: 60,
        }),
        async (slots, steps) => {
          const test = open(slots);
          const done = steps.map((step) => test.add(step));
          await settle();
          for (let finished = 0; finished < steps.length; finished++) {
            expect(test.running.length).toBe(Math.min(slots, steps.length - finished));
            await test.finishOne();
          }
          await Promise.all(done);
          expect(new Set(test.begun)).toEqual(new Set(steps));
          expect(test.begun.length).toBe(steps.length);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('give each waiting priority its floor share, so that none starves', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(priority, { minLength: 2 }), async (busy) => {
        const test = open();
        const rounds = 200;
        // More than enough of each, so that every priority waits all the time.
        for (const one of busy)
          for (let unit = 0; unit < rounds; unit++) void test.add({ priority: one, connectionId: one, costMs: 1 });
        await settle();
        for (let round = 1; round < rounds; round++) await test.finishOne();
        for (const one of busy) {
          const got = test.begun.filter((step) => step.priority === one).length;
          expect(got, one).toBeGreaterThanOrEqual(Math.floor(floorShares[one] * rounds) - 2);
        }
        const top = priorities.find((name) => busy.includes(name))!;
        const topShare = test.begun.filter((step) => step.priority === top).length / rounds;
        const others = busy.filter((name) => name !== top).reduce((sum, name) => sum + floorShares[name], 0);
        expect(topShare).toBeGreaterThanOrEqual(1 - others - 0.02);
      }),
      { numRuns: 31 },
    );
  });

  it('let a manual sync pass a big backfill after one unit at most', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 0, max: 40 }), async (slots, before) => {
        const test = open(slots);
        for (let unit = 0; unit < 100; unit++) void test.add(bulk(`backfill-${unit % 3}`, 50));
        await settle();
        for (let unit = 0; unit < before; unit++) await test.finishOne();
        const seen = test.begun.length;
        void test.add({ priority: 'manual', connectionId: 'mine', costMs: 1 });
        await settle();
        await test.finishOne();
        expect(test.begun.slice(seen).map((step) => step.priority)).toEqual(['manual']);
      }),
      { numRuns: 40 },
    );
  });

  it('share the time of a priority between connections, however long their units are', async () => {
    const test = open();
    for (let unit = 0; unit < 400; unit++) {
      void test.add(bulk('slow', 40));
      void test.add(bulk('fast', 10));
    }
    await settle();
    for (let unit = 0; unit < 300; unit++) await test.finishOne();
    const spent = (id: string) =>
      test.begun.filter((step) => step.connectionId === id).reduce((sum, step) => sum + step.costMs, 0);
    expect(Math.abs(spent('slow') - spent('fast'))).toBeLessThanOrEqual(80);
  });

  it('let a connection that comes late take its turn at once, and save nothing up', async () => {
    const test = open();
    for (let unit = 0; unit < 200; unit++) void test.add(bulk('first', 10));
    await settle();
    for (let unit = 0; unit < 100; unit++) await test.finishOne();
    for (let unit = 0; unit < 100; unit++) void test.add(bulk('late', 10));
    const seen = test.begun.length;
    for (let unit = 0; unit < 40; unit++) await test.finishOne();
    const late = test.begun.slice(seen).filter((step) => step.connectionId === 'late').length;
    expect(test.begun[seen]!.connectionId).toBe('late');
    expect(late).toBeGreaterThanOrEqual(19);
    expect(late).toBeLessThanOrEqual(22);
  });

  it('leave out a unit whose signal aborts while it waits, and go on after one that fails', async () => {
    const test = open();
    const stop = new AbortController();
    void test.add(bulk('a'));
    const waiting = test.add(bulk('b'), stop.signal);
    const reason = new Error('stopped');
    stop.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    await expect(test.add(bulk('b'), stop.signal)).rejects.toBe(reason);
    const third = test.add(bulk('c'));
    await settle();
    await test.finishOne();
    expect(test.begun.map((step) => step.connectionId)).toEqual(['a', 'c']);
    await test.finishOne();
    await third;
    const workSlots = createWorkSlots({ count: 1, clock: createTestClock() });
    const place = { priority: 'delta', connectionId: 'a' } as const;
    await expect(workSlots.use(place, async () => Promise.reject(reason))).rejects.toBe(reason);
    expect(await workSlots.use(place, async () => 'fine')).toBe('fine');
  });
});
