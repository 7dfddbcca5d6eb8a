import { expect, it } from 'vitest';
import { isPost } from '../../../src/engine/read-document.ts';

it.each([
  ['https://x.com/mira/status/1742', true],
  ['https://twitter.com/mira/status/1742?s=20', true],
  ['http://www.twitter.com/mira/status/1742/photo/1', true],
  ['https://mobile.x.com/i/status/1742', true],
  ['https://x.com/mira', false],
  ['https://x.com/mira/status/next', false],
  ['https://x.com.example.com/mira/status/1742', false],
  ['https://netflix.com/mira/status/1742', false],
  ['not an address', false],
])('%s is the address of a post: %s', (address, is) => {
  expect(isPost(address)).toBe(is);
});
