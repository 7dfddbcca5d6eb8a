import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkFetched, readInline, writeInline, isPlainJson } from '../../../src/sync/check-item.ts';
import { checkCursor, checkPage, checkPartitions, createPageGuard } from '../../../src/sync/check-page.ts';

describe('a page', () => {
  it('keeps what is right, and leaves out what cannot be used with a reason', () => {
    const page = checkPage(
      {
        refs: [
          { id: 'a', rev: '1', title: 'A', size: 3, metadata: { kept: ['x'], nested: { no: 1 }, bad: Number.NaN } },
          { rev: '1' },
          { id: 'b' },
          { id: 7, rev: '1' },
          null,
          { id: 'c', rev: '2', size: 'large', updatedAt: 'yesterday', title: 5, kind: 'folder', unknown: 1n },
        ],
        total: 1.5,
      },
      'list',
    );
    expect(page.refs).toEqual([
      { id: 'a', rev: '1', title: 'A', size: 3, metadata: { kept: ['x'] } },
      { id: 'c', rev: '2' },
    ]);
    expect(page.remarks).toMatchObject([{ code: 'invalid_items' }]);
    expect(page.incomplete).toContain('one has no id (4 in one page)');
    expect(page.total).toBeUndefined();
  });

  it.each<[what: string, records: unknown, message: RegExp]>([
    ['a list', [], /`records` of list are no object/],
    ['with a name that is too long', { ['x'.repeat(257)]: 1 }, /name that is not a text of 1 to 256 characters/],
    ['with an empty name', { '': 1 }, /name that is not a text/],
    ['with a name that cannot be stored', { 'a\u0000': 1 }, /name that is not a text/],
    ['with a value that is no JSON', { name: new Date() }, /The record "name" of list is not JSON/],
    ['with a value that is too large', { name: 'x'.repeat(65_536) }, /has 65538 bytes; at most 65536 are stored/],
    [
      'more than 1,000',
      Object.fromEntries(Array.from({ length: 1_001 }, (_, index) => [`name-${index}`, null])),
      /has 1001 records; at most 1000 are stored with one page/,
    ],
  ])('is refused when its records are %s', (_, records, message) => {
    expect(() => checkPage({ refs: [], records }, 'list')).toThrow(message);
  });

  it('keeps its records, also those that remove', () => {
    const records = { ['n'.repeat(256)]: 'x'.repeat(65_534), gone: null, none: undefined };
    expect(checkPage({ refs: [], records }, 'list').records).toEqual({
      ['n'.repeat(256)]: 'x'.repeat(65_534),
      gone: null,
    });
    expect(checkPage({ refs: [] }, 'list').records).toEqual({});
  });

  it.each([
    ['nothing', undefined],
    ['a list', []],
    ['no refs', { done: true }],
    ['refs that are no list', { refs: 'none' }],
  ])('is refused when it is %s', (_, answer) => {
    expect(() => checkPage(answer, 'list')).toThrow(/This is to be mended in the connector/);
  });

  it('shortens an id that no index takes, the same way each time', () => {
    const id = 'é'.repeat(10_000);
    const [first, second] = [id, `${id}x`].map((one) => checkPage({ refs: [{ id: one, rev: '1' }] }, 'list').refs[0]!);
    expect(Buffer.byteLength(first!.id)).toBeLessThanOrEqual(1_000);
    expect(first!.sourceId).toBe(id);
    expect(second!.id).not.toBe(first!.id);
    expect(checkPage({ refs: [], gone: [id] }, 'changes').gone).toEqual([first!.id]);
  });

  it('never lets through what the database cannot store', () => {
    fc.assert(
      fc.property(fc.anything(), fc.anything(), fc.anything(), (id, rev, more) => {
        const ref = typeof more === 'object' && more !== null ? { ...more, id, rev } : { id, rev, title: more };
        const { refs } = checkPage({ refs: [ref], gone: [id] }, 'list');
        for (const one of refs) expect(isPlainJson({ ...one, document: undefined })).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});

describe('a cursor', () => {
  const circle: Record<string, unknown> = {};
  circle['self'] = circle;

  it.each([
    ['a date', new Date(0)],
    ['a map', { at: new Map() }],
    ['a big integer', { at: 1n }],
    ['a function', () => 1],
    ['no finite number', { at: Number.POSITIVE_INFINITY }],
    ['a circle', circle],
    ['a text that cannot be stored', { at: 'a\u0000b' }],
    ['too large', 'x'.repeat(65_000).concat('y'.repeat(1_000))],
  ])('is refused when it is %s', (_, cursor) => {
    expect(() => checkCursor(cursor, 'list')).toThrow(/cursor of list/);
  });

  it('comes back as it was from JSON', () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        let checked: unknown;
        try {
          checked = checkCursor(value, 'list');
        } catch {
          return;
        }
        if (checked !== undefined)
          expect(JSON.parse(JSON.stringify(checked))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
    expect(checkCursor(undefined, 'list')).toBeUndefined();
    expect(checkCursor({ a: undefined, b: [1, null] }, 'list')).toEqual({ b: [1, null] });
  });
});

describe('partitions', () => {
  it('are one for each id', () => {
    expect(checkPartitions([{ id: 'a' }, { id: 'a', title: 'A' }, { id: 'b', title: 3 }])).toEqual([
      { id: 'a', title: 'A' },
      { id: 'b' },
    ]);
    for (const wrong of [null, {}, [{}], [{ id: '' }], [{ id: 'x'.repeat(1_001) }]]) {
      expect(() => checkPartitions(wrong)).toThrow(/partitions/);
    }
  });
});

describe('the end of a listing', () => {
  const page = (ids: string[], next?: unknown) =>
    checkPage(
      { refs: ids.map((id) => ({ id, rev: '1' })), ...(next === undefined ? { done: true } : { next }) },
      'list',
    );

  it('is missed when a page leads to itself or back', () => {
    const guard = createPageGuard('list');
    guard.pass(undefined, page(['a'], 1));
    guard.pass(1, page(['b'], 2));
    expect(() => guard.pass(2, page(['c'], 1))).toThrow(/never end/);
    expect(() => createPageGuard('list').pass(1, page(['a'], 1))).toThrow(/never end/);
  });

  it('is missed when there is nothing new for ever', () => {
    for (const ids of [[], ['a', 'b']]) {
      const guard = createPageGuard('list');
      let cursor = 0;
      const read = () => {
        for (; cursor < 5_000; cursor++) guard.pass(cursor, page(ids, cursor + 1));
      };
      expect(read).toThrow(/without anything new/);
      expect(cursor).toBeGreaterThan(900);
    }
  });

  it('is not missed by a long listing', () => {
    const guard = createPageGuard('list');
    for (let cursor = 0; cursor < 5_000; cursor++) guard.pass(cursor, page([`item ${cursor}`], cursor + 1));
    guard.pass(5_000, page([]));
  });
});

describe('a fetched document', () => {
  it.each([
    ['nothing', undefined],
    ['a text', 'hello'],
    ['no content', { title: 'only' }],
    ['a text that is none', { text: 5 }],
    ['a file without bytes', { file: { bytes: 'abc' } }],
  ])('is refused when it is %s', (_, answer) => {
    expect(() => checkFetched(answer)).toThrow(/fetch answered/);
  });

  it('loses what cannot be stored', () => {
    expect(checkFetched({ text: 'a\u0000b', title: 5, updatedAt: 'never', metadata: { a: { b: 1 } }, rev: 3 })).toEqual(
      {
        text: 'ab',
        metadata: {},
      },
    );
    expect(checkFetched({ skip: 'nonsense' })).toEqual({ skip: 'other' });
    expect(checkFetched({ gone: true, text: 'x' })).toEqual({ gone: true });
  });

  it('is kept with a listing as it was, bytes included', () => {
    const document = {
      title: 'T',
      parts: [{ text: 'one' }, { file: { bytes: Buffer.from([0, 1, 255]), name: 'a.bin' } }],
      metadata: { bytes: 'not these' },
    };
    const kept = readInline(writeInline(document)!);
    expect(kept).toEqual({
      ...document,
      parts: [{ text: 'one' }, { file: { bytes: Uint8Array.from([0, 1, 255]), name: 'a.bin' } }],
    });
    expect(writeInline({ text: 'x'.repeat(2 ** 21) })).toBeNull();
    expect(writeInline({})).toBeNull();
  });
});
