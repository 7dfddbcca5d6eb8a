import fc from 'fast-check';
import { expect, it } from 'vitest';
import { decodeBytes, decodeCharset, unflow } from '../../../connectors/imap/decode.ts';

it('removes quoted-printable from whatever was put into it', () => {
  const encode = (text: string) =>
    [...Buffer.from(text)].map((byte) => `=${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('=\r\n');
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 40 }), (text) => {
      const bytes = decodeBytes(Buffer.from(encode(text)), 'quoted-printable');
      expect(bytes).toEqual(Buffer.from(text));
    }),
    { numRuns: 30 },
  );
});

it.each([
  ['utf-8', Buffer.from('Grüße'), { text: 'Grüße', isGuess: false }],
  ['iso-8859-1', Buffer.from('Grüße'), { text: 'Grüße', isGuess: false }],
  ['iso-8859-2', Buffer.from([0xb3, 0xf3, 0x64, 0xbc]), { text: 'łódź', isGuess: false }],
  ['us-ascii', Buffer.from([0x47, 0x72, 0xfc]), { text: 'Grü', isGuess: true }],
  ['"utf-8"', Buffer.from([0xff, 0x41]), { text: 'ÿA', isGuess: true }],
  ['shift_jis', Buffer.from([0x93, 0xfa, 0x96, 0x7b]), { text: '日本', isGuess: false }],
  ['', Buffer.from('plain'), { text: 'plain', isGuess: false }],
])('reads what is said to be %s', (charset, bytes, wanted) => {
  expect(decodeCharset(bytes, charset)).toEqual(wanted);
});

it('joins flowed lines of one depth, and no signature', () => {
  expect(unflow('one \r\ntwo\r\n> three \r\n> four\r\nfive \r\n-- \r\nMe', false)).toBe(
    'one two\n> three four\nfive \n-- \nMe',
  );
  expect(unflow('日 \r\n本', true)).toBe('日本');
});
