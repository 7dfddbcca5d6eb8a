import { expect, it } from 'vitest';
import { valueOf } from '../../../src/base/collections.ts';

it('a key without a value is not named: it may be a text of a user', () => {
  const values = new Map([['the text of a letter', 1]]);
  expect(valueOf(values, 'the text of a letter')).toBe(1);
  expect(() => valueOf(values, 'another letter')).toThrow(/^There is no value for this key, among 1\.$/);
});
