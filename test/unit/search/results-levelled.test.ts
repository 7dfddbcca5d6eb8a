import { expect, it } from 'vitest';
import { levelled } from '../../../src/search/results.ts';

it('no result is reported as less similar than one after it, and none as less than it is', () => {
  const ranked = [0.5, 0.7, 0.2, 0.6, 0.1].map((similarity, place) => ({ id: `text-${place}`, similarity }));
  const found = levelled(ranked);
  expect(found.map(({ id }) => id)).toEqual(ranked.map(({ id }) => id));
  expect(found.map(({ similarity }) => similarity)).toEqual([0.7, 0.7, 0.6, 0.6, 0.1]);
  expect(levelled([])).toEqual([]);
});
