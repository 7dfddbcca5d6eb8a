import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { excerptOf, markWords } from '../../../console/src/mark-words.ts';

const marked = (text: string, query: string) =>
  markWords(text, query).flatMap((part) => (part.isMatch ? [part.text] : []));

describe('words that are marked', () => {
  it('are those of the query, whatever their case, accents and endings', () => {
    expect(marked('Rotate the Signing key. Keys rotate.', 'rotating signing keys')).toEqual([
      'Rotate',
      'Signing',
      'key',
      'Keys',
      'rotate',
    ]);
    expect(marked('Das Café öffnet um neun.', 'cafe offnet')).toEqual(['Café', 'öffnet']);
  });

  it('are whole words, and small ones only where there are no others', () => {
    expect(marked('The keyboard has keys of the author', 'where are the keys')).toEqual(['keys']);
    expect(marked('To be or not', 'to be')).toEqual(['To', 'be']);
  });

  it('are none where nothing was asked, and take patterns for text', () => {
    expect(marked('anything', '')).toEqual([]);
    expect(marked('a+b (c)', '.*+?(')).toEqual([]);
  });

  it('leave the text as it was', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), (text, query) => {
        expect(
          markWords(text, query)
            .map((part) => part.text)
            .join(''),
        ).toBe(text);
      }),
    );
  });
});

describe('an excerpt', () => {
  it('shows the first word that was asked for', () => {
    const text = `${'before '.repeat(200)}kiln ${'after '.repeat(200)}`;
    const excerpt = excerptOf(text, 'the kiln', 120);
    expect(excerpt).toContain('kiln');
    expect(excerpt).toMatch(/^… before .* after …$/);
    expect(excerpt.length).toBeLessThanOrEqual(124);
  });

  it('is the whole text where that is short', () => {
    expect(excerptOf('one\n\ntwo', 'two', 100)).toBe('one two');
  });

  it('is never longer than was said, but for its dots', () => {
    fc.assert(
      fc.property(
        fc.string({ maxLength: 400 }),
        fc.string({ maxLength: 20 }),
        fc.integer({ min: 20, max: 100 }),
        (text, query, most) => {
          expect(excerptOf(text, query, most).length).toBeLessThanOrEqual(most + 4);
        },
      ),
    );
  });
});
