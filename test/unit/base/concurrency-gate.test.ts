import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createGate, type Gate } from '../../../src/base/concurrency.ts';

/** Lets every promise that can settle do so. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

type Kind = 'urgent' | 'other';

/** Is inside while all callers queue up, and gives the order in which they passed. */
async function orderOf(gate: Gate, callers: readonly Kind[]): Promise<number[]> {
  const order: number[] = [];
  const leave = await gate.enter({ urgent: false });
  const all = callers.map(async (kind, index) => {
    const done = await gate.enter({ urgent: kind === 'urgent' });
    order.push(index);
    await settle();
    done();
  });
  leave();
  await Promise.all(all);
  return order;
}

const urgent = (count: number) => Array.from({ length: count }, () => 'urgent' as const);
const other = (count: number) => Array.from({ length: count }, () => 'other' as const);
const single = () => createGate(1, { burst: 16 });

test('so many are inside at a time', async () => {
  const gate = createGate(3);
  let inside = 0;
  let most = 0;
  const work = async () => {
    most = Math.max(most, ++inside);
    await settle();
    inside--;
  };
  await Promise.all([...urgent(10), ...other(10)].map((kind) => gate.run(work, { urgent: kind === 'urgent' })));
  expect([most, gate.empty]).toEqual([3, true]);
});

test('it is empty only when nobody is inside or waits', async () => {
  const gate = single();
  expect(gate.empty).toBe(true);
  const leave = await gate.enter();
  const next = gate.enter({ urgent: false });
  expect([gate.empty, gate.waiting]).toEqual([false, 1]);
  expect(gate.tryEnter()).toBeNull();
  leave();
  expect([gate.empty, gate.waiting]).toEqual([false, 0]);
  (await next)();
  expect(gate.empty).toBe(true);
});

test('an aborted wait takes no place, and failed work gives its place back', async () => {
  const gate = createGate(1);
  const leave = await gate.enter();
  const stop = new AbortController();
  const waiting = gate.enter({ signal: stop.signal });
  const next = gate.enter();
  stop.abort(new Error('enough'));
  await expect(waiting).rejects.toThrow('enough');
  leave();
  (await next)();
  await expect(gate.run(() => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  await expect(gate.enter({ signal: stop.signal })).rejects.toThrow('enough');
  expect(gate.empty).toBe(true);
});

describe('turns', () => {
  test('an urgent caller passes others that wait', async () => {
    expect(await orderOf(single(), [...other(3), 'urgent'])).toEqual([3, 0, 1, 2]);
  });

  test('after a burst of sixteen one of the others has its turn', async () => {
    const order = await orderOf(single(), ['other', 'other', ...urgent(40)]);
    expect(order.indexOf(0)).toBe(16);
    expect(order.indexOf(1)).toBe(33);
  });

  test('each kind keeps its order, and everybody gets a turn', async () => {
    const callers = fc.array(fc.constantFrom<Kind>('urgent', 'other'), { maxLength: 120 });
    await fc.assert(
      fc.asyncProperty(callers, async (queued) => {
        const order = await orderOf(single(), queued);
        for (const kind of ['urgent', 'other']) {
          const ofKind = order.filter((index) => queued[index] === kind);
          expect(ofKind).toEqual(ofKind.toSorted((a, b) => a - b));
        }
        expect(order).toHaveLength(queued.length);
      }),
      { numRuns: 50 },
    );
  });
});
