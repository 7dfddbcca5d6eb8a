import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findModelFolder, readModelFile } from '../../../src/models/minilm/files.ts';
import { parseTokenizer } from '../../../src/models/token-counting.ts';
import { cpuMs } from '../../support/cpu-time.ts';

const tokenizer = parseTokenizer(readModelFile(findModelFolder(), 'tokenizer').toString('utf8'), 'tokenizer.json');

/** Ids that @huggingface/tokenizers 0.2.0 answers for the same tokenizer.json. */
const known: [text: string, ids: number[]][] = [
  ['Hello, World! Café déjà-vu', [7592, 1010, 2088, 999, 7668, 2139, 3900, 1011, 24728]],
  ["don't stop—believing… “quotes”", [2123, 1005, 1056, 2644, 1517, 8929, 1529, 1523, 16614, 1524]],
  ['日本語のテキスト 中文', [1864, 1876, 1950, 1671, 30239, 30227, 30233, 30240, 1746, 1861]],
  ['한국어', [1469, 30006, 30021, 29991, 30014, 30020, 29999, 30008]],
  ['emoji 😀👩‍👩‍👧 party🎉time', [7861, 29147, 2072, 100, 100]],
  ['a\0b \u200bzero\u200dwidth \ufeffbom', [11113, 5717, 9148, 11927, 2232, 8945, 2213]],
  [
    '$100 + 50% = <html> `code` ~tilde^',
    [1002, 2531, 1009, 2753, 1003, 1027, 1026, 16129, 1028, 1036, 3642, 1036, 1066, 18681, 3207, 1034],
  ],
  ['İstanbul ß ﬁne Ⅷ ＦＵＬＬ', [9960, 1096, 1984, 2638, 100, 100]],
  ['\ud800 lone \udc00', [10459]],
  ['nb\u00a0sp\u2003em\u0085next', [1050, 2497, 11867, 7861, 2638, 18413]],
  [
    'unbelievably antidisestablishmentarianism',
    [4895, 8671, 2666, 3567, 6321, 3424, 10521, 4355, 7875, 13602, 3672, 12199, 2964],
  ],
  ['٣٤٥ नमस्ते ภาษาไทย', [100, 1327, 29867, 29874, 29859, 100]],
  ['', []],
  [' \t\r\n', []],
];

describe('WordPiece', () => {
  it.each(known)('reads %j as the reference does', (text, ids) => {
    expect(tokenizer.encode(text, 256)).toEqual(ids);
    expect(tokenizer.count(text)).toBe(ids.length);
  });

  it('frames texts with [CLS] and [SEP], and reads those in a text as plain text', () => {
    expect([...tokenizer.start, ...tokenizer.end]).toEqual([101, 102]);
    expect(tokenizer.encode('[CLS] [SEP]', 256)).not.toEqual(expect.arrayContaining([101]));
    expect(tokenizer.encode('[SEP]', 256)).not.toEqual(expect.arrayContaining([102]));
  });

  it('encodes the start of what it counts', { timeout: 30_000 }, () => {
    const text = fc.string({ unit: 'binary', maxLength: 200 });
    fc.assert(
      fc.property(text, fc.nat({ max: 40 }), (text, limit) => {
        const ids = tokenizer.encode(text, 10_000);
        expect(tokenizer.count(text)).toBe(ids.length);
        expect(tokenizer.encode(text, limit)).toEqual(ids.slice(0, limit));
      }),
    );
  });

  it('counts parts that are joined at whitespace as their sum', { timeout: 30_000 }, () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 60 });
    fc.assert(
      fc.property(text, text, (left, right) => {
        expect(tokenizer.count(`${left} ${right}`)).toBe(tokenizer.count(left) + tokenizer.count(right));
      }),
    );
  });

  it('counts a word without end once per hundred characters', () => {
    expect(tokenizer.count('x'.repeat(101))).toBe(2);
    expect(tokenizer.encode('x'.repeat(250), 256)).toEqual([100, 100, 100]);
  });

  it.each([
    ['one word', 'a'.repeat(1_000_000)],
    ['ideographs', '漢'.repeat(300_000)],
    ['emoji', '😀'.repeat(250_000)],
    ['punctuation', '.'.repeat(1_000_000)],
    ['combining marks', `e${'\u0301\u0327'.repeat(500_000)}`],
    ['spacing marks of two classes', `e${'\u302e\u{1d165}'.repeat(150_000)}`],
    ['halves of surrogate pairs', '\ud800'.repeat(1_000_000)],
    ['syllables', '한'.repeat(300_000)],
    ['different words', Array.from({ length: 150_000 }, (_, index) => `w${index.toString(36)}`).join(' ')],
  ])('takes time in proportion to a megabyte of %s', { timeout: 60_000 }, (_, text) => {
    const spent = cpuMs(() => {
      tokenizer.count(text);
      tokenizer.encode(text, 256);
    });
    expect(spent).toBeLessThan(20_000);
  });
});
