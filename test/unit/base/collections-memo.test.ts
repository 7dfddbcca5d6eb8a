import { expect, test } from 'vitest';
import { createMemo } from '../../../src/base/collections.ts';
import { createTestClock } from '../../support/clock.ts';

test('remembers until its lifetime is over', () => {
  const clock = createTestClock();
  const memo = createMemo<number>(clock, { maxEntries: 10, lifetimeMs: 100 });
  memo.set('a', 1);
  clock.advance(99);
  expect(memo.get('a')).toBe(1);
  clock.advance(1);
  expect(memo.get('a')).toBeUndefined();
});

test('setting again starts the lifetime anew', () => {
  const clock = createTestClock();
  const memo = createMemo<number>(clock, { maxEntries: 10, lifetimeMs: 100 });
  memo.set('a', 1);
  clock.advance(60);
  memo.set('a', 2);
  clock.advance(60);
  expect(memo.get('a')).toBe(2);
});

test('forgets the oldest when there are too many', () => {
  const memo = createMemo<number>(createTestClock(), { maxEntries: 2, lifetimeMs: 100 });
  memo.set('a', 1);
  memo.set('b', 2);
  memo.set('a', 3);
  memo.set('c', 4);
  expect(memo.get('b')).toBeUndefined();
  expect([memo.get('a'), memo.get('c')]).toEqual([3, 4]);
});
