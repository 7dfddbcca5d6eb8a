import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createSessionLanes, type SessionLanes } from '../../../src/store/pglite/open-pglite.ts';
import type { SessionUse } from '../../../src/store/session.ts';

/** Lets every promise that can settle do so. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

/** Holds the session while all of `uses` queue up, and gives the order in which they got it. */
async function orderOf(lanes: SessionLanes, uses: readonly SessionUse[]): Promise<number[]> {
  const order: number[] = [];
  const leave = await lanes.enter('transaction');
  const all = uses.map(async (use, index) => {
    const done = await lanes.enter(use);
    order.push(index);
    await settle();
    done();
  });
  leave();
  await Promise.all(all);
  return order;
}

const statements = (count: number) => Array.from({ length: count }, () => 'statement' as const);
const transactions = (count: number) => Array.from({ length: count }, () => 'transaction' as const);

test('one holds the session at a time', async () => {
  const lanes = createSessionLanes();
  let holders = 0;
  const use = async (each: SessionUse) => {
    const leave = await lanes.enter(each);
    expect(++holders).toBe(1);
    await settle();
    holders--;
    leave();
  };
  await Promise.all([...statements(10), ...transactions(10), ...statements(10)].map(use));
  expect(lanes.entries).toBe(30);
});

test('it is idle only when nobody holds or waits for it', async () => {
  const lanes = createSessionLanes();
  expect(lanes.idle).toBe(true);
  const leave = await lanes.enter('statement');
  const next = lanes.enter('transaction');
  expect(lanes.idle).toBe(false);
  leave();
  expect(lanes.idle).toBe(false);
  (await next)();
  expect(lanes.idle).toBe(true);
});

describe('turns', () => {
  test('a statement passes transactions that wait', async () => {
    expect(await orderOf(createSessionLanes(), [...transactions(3), 'statement'])).toEqual([3, 0, 1, 2]);
  });

  test('after sixteen statements a waiting transaction has its turn', async () => {
    const order = await orderOf(createSessionLanes(), ['transaction', 'transaction', ...statements(40)]);
    expect(order.indexOf(0)).toBe(16);
    expect(order.indexOf(1)).toBe(33);
  });

  test('each lane keeps its order, and everybody gets a turn', async () => {
    const uses = fc.array(fc.constantFrom<SessionUse>('statement', 'transaction'), { maxLength: 120 });
    await fc.assert(
      fc.asyncProperty(uses, async (queued) => {
        const order = await orderOf(createSessionLanes(), queued);
        for (const use of ['statement', 'transaction']) {
          const inLane = order.filter((index) => queued[index] === use);
          expect(inLane).toEqual(inLane.toSorted((a, b) => a - b));
        }
        expect(order).toHaveLength(queued.length);
      }),
      { numRuns: 50 },
    );
  });
});
