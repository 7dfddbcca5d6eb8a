import { describe, expect, it } from 'vitest';
import { encodeMessage } from '../../../src/models/onnx/model-bytes.ts';

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

/** Examples of protobuf.dev/programming-guides/encoding. */
describe('protobuf', () => {
  it('writes integers as varints', () => {
    expect(hex(encodeMessage((message) => message.integer(1, 150)))).toBe('089601');
    expect(hex(encodeMessage((message) => message.integer(1, 0)))).toBe('0800');
    expect(hex(encodeMessage((message) => message.integer(1, -2)))).toBe('08feffffffffffffffff01');
    expect(hex(encodeMessage((message) => message.integer(20, 2 ** 40)))).toBe('a001808080808020');
  });

  it('writes texts, bytes and messages with their length', () => {
    expect(hex(encodeMessage((message) => message.text(2, 'testing')))).toBe('120774657374696e67');
    expect(hex(encodeMessage((message) => message.bytes(2, Uint8Array.of(1, 2))))).toBe('12020102');
    expect(hex(encodeMessage((message) => message.message(3, (nested) => nested.integer(1, 150))))).toBe('1a03089601');
    expect(hex(encodeMessage((message) => message.message(3, () => undefined)))).toBe('1a00');
  });

  it('writes floats as four little-endian bytes', () => {
    expect(hex(encodeMessage((message) => message.float(2, 1)))).toBe('150000803f');
  });
});
