import { expect, it } from 'vitest';
import { createSideWork } from '../../../src/engine/process.ts';
import { createTestClock } from '../../support/clock.ts';

function gate(): { opened: Promise<void>; open: () => void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

it('works on 16 at a time, in order, and says when it is full', async () => {
  const work = createSideWork(createTestClock());
  const gates = Array.from({ length: 256 }, gate);
  const begun: number[] = [];
  const all = work.each([...gates.keys()], async (index) => {
    begun.push(index);
    await gates[index]!.opened;
  });
  work.start(all);
  await expect.poll(() => begun.length).toBe(16);
  expect(work.isFull).toBe(true);
  gates[3]!.open();
  await expect.poll(() => begun.at(-1)).toBe(16);
  await expect.poll(() => work.isFull).toBe(false);
  for (const one of gates) one.open();
  await work.settled();
  expect(begun).toEqual([...gates.keys()]);
  expect(await work.pause()).toBe(false);
});

it('pauses until something ends or the time is over', async () => {
  const clock = createTestClock();
  const work = createSideWork(clock);
  const first = gate();
  const second = gate();
  work.start(first.opened);
  work.start(second.opened);
  const paused = work.pause();
  first.open();
  expect(await paused).toBe(true);
  const again = work.pause();
  clock.advance(500);
  expect(await again).toBe(true);
  second.open();
  await work.settled();
});

it('tells of a failure at the end, when everything else has ended too', async () => {
  const work = createSideWork(createTestClock());
  const last = gate();
  let isOver = false;
  const each = work.each([1, 2], async (number) => {
    if (number === 1) throw new Error('the database is gone');
    await last.opened;
    isOver = true;
  });
  work.start(each);
  last.open();
  await expect(work.settled()).rejects.toThrow('the database is gone');
  expect(isOver).toBe(true);
});
