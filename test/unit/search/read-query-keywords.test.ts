import { describe, expect, test } from 'vitest';
import { queryTerms, queryWords } from '../../../src/engine/terms.ts';
import { keywordsOf } from '../../../src/search/read-query.ts';

function keywords(query: string) {
  return keywordsOf(query, formsIn(query));
}

function formsIn(query: string) {
  return queryWords(query).map(({ forms }) => forms);
}

function matches(pattern: string, text: string): boolean {
  return new RegExp(pattern, 'iu').test(text);
}

describe('identifiers count wherever they stand', () => {
  test.each([
    'ERR_CONN_4711',
    'zanzibar-7',
    'parseHeader',
    'config.yaml',
    'v1.2.3',
    'covid19',
    'ABC-123',
    'snake_case',
    'user@mail7',
  ])('%s', (text) => {
    const [first] = keywords(`what about ${text}?`).filter(({ onlyIfRare }) => !onlyIfRare);
    expect(matches(first!.pattern, `It was ${text.toUpperCase()}, they said.`)).toBe(true);
    expect(matches(first!.pattern, `It was x${text}`)).toBe(false);
    expect(matches(first!.pattern, `It was ${text}x`)).toBe(false);
  });
});

describe('words count when they are rare', () => {
  test.each(['marmalade', 'follow-up', '2024', '3rd', '10am', 'e.g.', 'Berlin', 'HTTP', '10:30'])('%s', (text) => {
    const found = keywords(text);
    expect(found.length).toBe(1);
    expect(found[0]!.onlyIfRare).toBe(true);
    expect(found[0]!.terms.length).toBeGreaterThan(0);
  });
});

test('short words and stop words are no keywords', () => {
  expect(keywords('to be or on the go in')).toEqual([]);
});

test('a quoted phrase is matched as a whole, across any white space', () => {
  const [phrase] = keywords('who said "to be (or not)" and “so on”?');
  expect(phrase!.onlyIfRare).toBe(false);
  expect(matches(phrase!.pattern, 'He said: To\n be  (or not) to be')).toBe(true);
  expect(matches(phrase!.pattern, 'unto be (or not)')).toBe(false);
  expect(
    keywords('“so on” «et cetera»')
      .slice(0, 2)
      .map(({ pattern }) => pattern),
  ).toEqual([String.raw`(?<!\w)so\s+on(?!\w)`, String.raw`(?<!\w)et\s+cetera(?!\w)`]);
});

test('an open or empty quotation is none', () => {
  expect(keywords('the "unfinished').every(({ onlyIfRare }) => onlyIfRare)).toBe(true);
  expect(keywords('"" " "')).toEqual([]);
});

test('guards are the parts of a token, which stand in a text that holds it inside a longer one', () => {
  const query = 'see ERR_CONN_4711';
  const terms = formsIn(query);
  const [first] = keywordsOf(query, terms);
  const text = new Set(queryTerms('prefix.ERR_CONN_4711.log'));
  expect(first!.terms.length).toBeGreaterThan(0);
  expect(first!.terms.every((index) => terms[index]!.some((form) => text.has(form)))).toBe(true);
});

test('scripts without spaces have no word boundaries', () => {
  const [first] = keywords('東京都庁');
  expect(matches(first!.pattern, 'これは東京都庁です')).toBe(true);
});

test('there are never more than sixteen, and all patterns are valid', () => {
  const query = Array.from({ length: 900 }, (_, index) => `we.ird+(x${index}*`).join(' ');
  const found = keywords(query);
  expect(found.length).toBe(16);
  for (const { pattern } of found) expect(() => new RegExp(pattern, 'iu')).not.toThrow();
});
