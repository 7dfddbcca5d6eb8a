import { expect, it } from 'vitest';
import { isStorable, storableText } from '../../../src/base/storable.ts';

it.each([
  ['plain', 'plain', true],
  ['a\0b', 'ab', false],
  ['half \ud83d', 'half \ufffd', false],
  ['🦊', '🦊', true],
])('%j is stored as %j', (text, stored, isSame) => {
  expect(storableText(text)).toBe(stored);
  expect(isStorable(text)).toBe(isSame);
});

it('cuts between characters', () => {
  expect(storableText('ab🦊', 3)).toBe('ab\ufffd');
  expect(storableText('ab🦊', 4)).toBe('ab🦊');
  expect(storableText('\0'.repeat(5), 3)).toBe('');
});
