import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findModelFolder, readModelFile } from '../../../src/models/minilm/files.ts';
import { cutToTokens, estimateTokens, parseTokenizer } from '../../../src/models/token-counting.ts';

const samples = [
  'The meeting was moved to Thursday afternoon because two of the engineers are travelling.',
  'npm install --save-exact @scope/package@1.2.3 && node ./dist/index.js --port=8080',
  'Order 2026-03-01T09:00:00Z: 1,234.56 EUR (incl. 19 % VAT), ref. 0049-30-1234567',
  '会议改到了星期四下午，因为两位工程师在出差。',
  'Le café était fermé; l’été dernier, on y mangeait très bien.',
  '👩‍👩‍👧 🎉🎉 ok',
];

describe('an estimate of tokens', () => {
  const tokenizer = parseTokenizer(readModelFile(findModelFolder(), 'tokenizer').toString('utf8'), '');

  it.each(samples)('is hardly ever below what a real tokenizer counts: %s', (text) => {
    expect(estimateTokens(text)).toBeGreaterThanOrEqual(tokenizer.count(text) * 0.95);
    expect(estimateTokens(text)).toBeLessThanOrEqual(text.length);
  });

  it('stays within its limit after a cut, and cuts nothing that fits', { timeout: 30_000 }, () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 120 }), fc.integer({ min: 1, max: 60 }), (text, limit) => {
        const cut = cutToTokens(text, limit);
        expect(estimateTokens(cut)).toBeLessThanOrEqual(limit);
        expect(cut.length).toBeGreaterThanOrEqual(Math.min(1, text.trim().length));
        if (estimateTokens(text) <= limit) expect(cut).toBe(text);
      }),
    );
  });
});
