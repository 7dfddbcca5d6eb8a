import { expect, it } from 'vitest';
import { createHeldBytes } from '../../../src/api/routes/hooks.ts';

it('refuses the largest body when all together are too large, and no other', () => {
  const held = createHeldBytes(100);
  const refused: string[] = [];
  const open = (name: string) => held.open(() => refused.push(name));
  const [small, large, larger] = [open('small'), open('large'), open('larger')];
  small.add(10);
  large.add(40);
  larger.add(50);
  expect(refused).toEqual([]);
  small.add(1);
  expect(refused).toEqual(['larger']);
  // Whatever still comes of it counts no more.
  larger.add(1000);
  large.add(49);
  expect(refused).toEqual(['larger']);
  large.release();
  large.release();
  small.add(89);
  expect(refused).toEqual(['larger']);
  small.add(1);
  expect(refused).toEqual(['larger', 'small']);
});
