import { expect, it } from 'vitest';
import { enoughFor, spread } from '../../../src/search/results.ts';
import type { Scored } from '../../../src/search/score-candidates.ts';

/** `a1` is a passage of the document `a`. */
const passages = (names: string, more: Partial<Scored> = {}) =>
  names.split(' ').map((id) => ({
    ...{ id, kind: 'chunk' as const, type: 'text' as const },
    ...{ places: [{ document: id[0]!, first: 0, last: 0, start: null, end: null }], ...more },
  }));
const order = (names: string, more: Partial<Scored> = {}) =>
  spread(passages(names, more))
    .map(({ id }) => id)
    .join(' ');

it('two passages of a document are among the first five while there are others, and none is lost', () => {
  expect(order('a1 a2 a3 a4 b1 c1 b2 b3 d1')).toBe('a1 a2 b1 c1 b2 a3 a4 b3 d1');
  expect(order('a1 a2 a3 b1')).toBe('a1 a2 b1 a3');
  expect(order('a1 a2 a3 a4')).toBe('a1 a2 a3 a4');
});

it('turns of a conversation and memories stay where they are', () => {
  expect(order('a1 a2 a3 b1', { type: 'turn' })).toBe('a1 a2 a3 b1');
  expect(order('a1 a2 a3 b1', { kind: 'memory', type: 'fact' })).toBe('a1 a2 a3 b1');
});

/** How many of the lines are looked at to show so many. */
function lookedAt(names: string, limit: number): number {
  const lines = passages(names);
  const isEnough = enoughFor(limit);
  return lines.findIndex((_, index) => isEnough(lines.slice(0, index + 1))) + 1;
}

it('more lines than are shown are looked at only where one document would take all of the first places', () => {
  expect(lookedAt('a1 b1 c1 d1 e1 f1 g1 h1', 6)).toBe(6);
  expect(lookedAt('a1 a2 b1 c1 d1 e1', 5)).toBe(5);
  expect(lookedAt('a1 a2 a3 b1', 1)).toBe(1);
  expect(lookedAt('a1 a2 a3 a4 b1 c1 d1 e1', 5)).toBe(7);
  expect(lookedAt(Array.from({ length: 99 }, (_, index) => `a${index}`).join(' '), 10)).toBe(30);
});
