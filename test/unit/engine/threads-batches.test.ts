import { describe, expect, it } from 'vitest';
import { createBatches, type Sized } from '../../../src/engine/text/threads.ts';

interface Job extends Sized {
  name: string;
}

const job = (name: string, size = 1000, more: Partial<Sized> = {}): Job => ({
  ...{ name, container: name.slice(0, 1), size, isSlow: false, isAlone: false },
  ...more,
});
const huge = 10_000_000;

function open(jobs: readonly Job[], maxLarge = 1) {
  const batches = createBatches<Job>({ maxLarge });
  for (const one of jobs) batches.add(one);
  const next = () => batches.next()?.map(({ name }) => name);
  return { batches, next };
}

describe('batches of text work', () => {
  it('take containers in turns, each in the order of coming', () => {
    const { next } = open(['a1', 'a2', 'a3', 'b1', 'c1', 'c2'].map((name) => job(name)));
    expect(next()).toEqual(['a1', 'b1', 'c1', 'a2', 'c2', 'a3']);
    expect(next()).toBeUndefined();
  });

  it('hold a few short texts or one long one', () => {
    const many = Array.from({ length: 20 }, (_, index) => job(`a${index}`));
    expect(open(many).next()).toHaveLength(16);
    const longer = Array.from({ length: 20 }, (_, index) => job(`a${index}`, 20_000));
    expect(open(longer).next()).toHaveLength(3);
    expect(open([job('a1', 200_000), job('a2')]).next()).toEqual(['a1']);
    expect(open([job('a1'), job('a2', 1, { isAlone: true }), job('a3')]).next()).toEqual(['a1']);
  });

  it('begin with the small, and keep the large within their share of the threads', () => {
    const { batches, next } = open([job('a1', huge), job('a2', huge), job('b1'), job('c1', 1, { isSlow: true })]);
    expect(next()).toEqual(['b1']);
    const large = batches.next()!;
    expect(large.map(({ name }) => name)).toEqual(['a1']);
    expect(next()).toBeUndefined();
    batches.ended(large);
    expect(next()).toEqual(['c1']);
  });

  it('let the large have their turn however many small ones come', () => {
    const { batches, next } = open([job('a1', huge), job('b1')]);
    expect(next()).toEqual(['b1']);
    batches.add(job('b2'));
    expect(next()).toEqual(['a1']);
    expect(next()).toEqual(['b2']);
  });

  it('forget what was removed, and give back all that waits', () => {
    const [first, second, third] = [job('a1'), job('a2'), job('b1', huge)];
    const { batches, next } = open([first, second, third]);
    batches.remove(first);
    expect(batches.smallWaits).toBe(true);
    expect(batches.clear()).toEqual([second, third]);
    expect(batches.smallWaits).toBe(false);
    expect(next()).toBeUndefined();
  });
});
