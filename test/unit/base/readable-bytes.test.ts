import { expect, it } from 'vitest';
import { readableBytes } from '../../../src/base/readable-bytes.ts';

it.each([
  [0, '0 bytes'],
  [1, '1 byte'],
  [1023, '1023 bytes'],
  [2048, '2 KiB'],
  [1.5 * 2 ** 30, '1.5 GiB'],
  [25 * 2 ** 20, '25 MiB'],
  [2 ** 30 - 1, '1023.9 MiB'],
  [2 ** 50, '1024 TiB'],
])('%i as people read it: %s', (bytes, text) => {
  expect(readableBytes(bytes)).toBe(text);
});
