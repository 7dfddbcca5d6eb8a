import { describe, expect, it } from 'vitest';
import { MemorydError } from '../../../src/base/errors.ts';
import { parseFilters, passes, type FilteredRef, type Filters } from '../../../src/sync/filters.ts';

const now = new Date('2026-03-01T12:00:00.000Z');

describe('passes', () => {
  const file: FilteredRef = {
    path: '/docs/plan.pdf',
    title: 'plan.pdf',
    mimeType: 'application/pdf; charset=binary',
    size: 1_000,
    updatedAt: '2026-02-27T12:00:00.000Z',
    metadata: { labels: ['Red', 'work'] },
  };
  const table: [filters: Filters, reason: string | null][] = [
    [{}, null],
    [{ include: [], exclude: [], mimeTypes: [], labels: [] }, null],
    [{ include: ['docs/**'] }, null],
    [{ include: ['notes/**', '*.pdf'] }, null],
    [{ include: ['notes/**'] }, 'include'],
    [{ include: ['*.pdf'], exclude: ['docs/'] }, 'exclude'],
    [{ exclude: ['*.md'] }, null],
    [{ mimeTypes: ['text/*', 'application/PDF'] }, null],
    [{ mimeTypes: ['*/pdf'] }, null],
    [{ mimeTypes: ['text/*'] }, 'mimeTypes'],
    [{ excludeMimeTypes: ['application/*'] }, 'excludeMimeTypes'],
    [{ minBytes: 1_000, maxBytes: 1_000 }, null],
    [{ minBytes: 1_001 }, 'minBytes'],
    [{ maxBytes: 999 }, 'maxBytes'],
    [{ updatedWithinDays: 2 }, null],
    [{ updatedWithinDays: 1.99 }, 'updatedWithinDays'],
    [{ updatedSince: '2026-02-27T13:00:00+01:00' }, null],
    [{ updatedSince: '2026-02-28' }, 'updatedSince'],
    [{ labels: ['blue', 'RED'] }, null],
    [{ labels: ['blue'] }, 'labels'],
    [{ excludeLabels: ['work'] }, 'excludeLabels'],
  ];

  it.each(table)('%j: %s', (filters, reason) => {
    expect(passes(filters, file, now)).toBe(reason);
  });

  const globs: [glob: string, taken: string[], left: string[]][] = [
    ['*.md', ['a.md', 'deep/er/a.md', '/a.md', 'a.md/b'], ['a.mdx', 'md', 'a.md.txt']],
    ['docs/**', ['docs/a', 'docs/x/y'], ['docs', 'other/docs/a', 'docsx/a']],
    ['docs', ['docs', 'docs/a', 'x/docs/y'], ['docsx', 'adocs']],
    ['docs/', ['docs/a', 'x/docs/y/z'], ['docs', 'x/docs']],
    ['/docs', ['docs', 'docs/a'], ['x/docs']],
    ['a/*/c', ['a/b/c', 'a/b/c/d'], ['a/c', 'a/b/b/c']],
    ['a/**/c', ['a/c', 'a/b/c', 'a/b/b/c'], ['a', 'c', 'b/a/c']],
    ['**', ['a', 'a/b'], []],
    ['*.{jpg,jpeg}', ['a.jpg', 'b/a.jpeg'], ['a.png']],
  ];

  it.each(globs)('takes %s at any depth without /, from the root with it, and all in a folder', (glob, taken, left) => {
    for (const path of taken) expect(passes({ include: [glob] }, { path }, now), path).toBeNull();
    for (const path of left) expect(passes({ include: [glob] }, { path }, now), path).toBe('include');
  });

  it('lets what the source does not tell pass limits and exclusions, not lists of what is wanted', () => {
    const unknown: FilteredRef = {};
    for (const limit of [
      { minBytes: 1 },
      { maxBytes: 1 },
      { updatedWithinDays: 1 },
      { updatedSince: '2026-01-01' },
      { exclude: ['**'] },
      { excludeMimeTypes: ['*/*'] },
      { excludeLabels: ['a'] },
    ])
      expect(passes(limit, unknown, now)).toBeNull();
    expect(passes({ include: ['**'] }, unknown, now)).toBe('include');
    expect(passes({ mimeTypes: ['*/*'] }, unknown, now)).toBe('mimeTypes');
    expect(passes({ labels: ['a'] }, unknown, now)).toBe('labels');
    expect(passes({ include: ['*.md'] }, { title: 'a.md' }, now)).toBeNull();
    expect(passes({ updatedWithinDays: 1 }, { updatedAt: 'yesterday' }, now)).toBeNull();
    expect(passes({ labels: ['a'] }, { metadata: { labels: 'A' } }, now)).toBeNull();
  });
});

describe('parseFilters', () => {
  it('takes valid filters as they are', () => {
    const filters: Filters = { include: ['a/**'], mimeTypes: ['text/*'], updatedWithinDays: 30 };
    expect(parseFilters(filters)).toEqual(filters);
    expect(parseFilters({})).toEqual({});
  });

  const wrong: [input: unknown, field: (string | number)[], text: RegExp][] = [
    [null, [], /must be object\. Give an object/],
    ['*.md', [], /must be object/],
    [{ includes: ['a'] }, ['includes'], /is not a filter\. The filters are include, exclude/],
    [{ include: '*.md' }, ['include'], /must be array\. Give globs/],
    [{ include: [''] }, ['include', '0'], /fewer than 1 character/],
    [{ exclude: ['ok', '{a'] }, ['exclude', 1], /braces.*Give globs/],
    [{ mimeTypes: ['pdf'] }, ['mimeTypes', '0'], /not of the right form\. Give media types/],
    [{ minBytes: -1 }, ['minBytes'], /must be >= 0\. Give a whole number/],
    [{ maxBytes: 1.5 }, ['maxBytes'], /integer/],
    [{ minBytes: 5, maxBytes: 4 }, ['maxBytes'], /below minBytes \(5\)/],
    [{ updatedWithinDays: 0 }, ['updatedWithinDays'], /must be > 0\. Give a number of days/],
    [{ updatedSince: 'last week' }, ['updatedSince'], /not of the right form\. Give a time/],
    [{ updatedSince: '2026-13-01' }, ['updatedSince'], /not a time that exists/],
    [{ labels: [7] }, ['labels', '0'], /must be string/],
    [{ labels: Array.from({ length: 101 }, String) }, ['labels'], /100/],
  ];

  it.each(wrong)('refuses %j', (input, path, text) => {
    const error = caught(() => parseFilters(input));
    expect(error).toMatchObject({ code: 'validation_failed', message: 'The filters are not valid.' });
    expect(error?.issues).toEqual([{ path: ['filters', ...path], message: expect.stringMatching(text) }]);
  });

  it('names every mistake', () => {
    const error = caught(() => parseFilters({ minBytes: -1, labels: 3, bogus: true }));
    expect(error?.issues?.map((issue) => issue.path?.[1]).sort()).toEqual(['bogus', 'labels', 'minBytes']);
  });
});

function caught(run: () => unknown): MemorydError | null {
  try {
    run();
    return null;
  } catch (error) {
    if (!MemorydError.is(error)) throw error;
    return error;
  }
}
