import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Database } from '../../src/store/database.ts';
import { compileFilter, type Filter, type FilterCondition } from '../../src/store/filters.ts';
import { sql } from '../../src/store/sql.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/databases.ts';

type Type = FilterCondition['filterType'];
type Value = FilterCondition['value'];

function condition(filterType: Type, value: Value, more: Partial<FilterCondition> = {}): FilterCondition {
  return { key: 'k', value, filterType, numericOperator: '=', negate: false, ignoreCase: false, ...more };
}

/** For a condition without and with negate, without and with ignoreCase: which of the stored values match. */
interface Row {
  filterType: Type;
  value: Value;
  operator?: FilterCondition['numericOperator'];
  matches: unknown[];
  /** Also when case is ignored. */
  matchesIgnoringCase?: unknown[];
  misses: unknown[];
}

const missing = Symbol('no such key');

const rows: Row[] = [
  // metadata: equality of string forms; arrays by any element
  {
    filterType: 'metadata',
    value: 'Red',
    matches: ['Red', ['Blue', 'Red'], ['Red']],
    matchesIgnoringCase: ['red', 'RED', ['blue', 'rED']],
    misses: [missing, '', 'Redd', 'R', 1, true, false, [], ['Blue'], { Red: 'Red' }, null, [['Red']]],
  },
  {
    filterType: 'metadata',
    value: '2024',
    matches: [2024, '2024', ['2024'], [2024]],
    misses: ['2024.0', 2024.5, missing, '02024', true],
  },
  { filterType: 'metadata', value: 2024, matches: [2024, '2024', [1, 2024]], misses: ['2,024', 20, missing] },
  { filterType: 'metadata', value: 1e21, matches: [1e21, '1e+21'], misses: ['1000000000000000000000', missing] },
  { filterType: 'metadata', value: '1e+21', matches: [1e21, '1e+21'], misses: [1, missing] },
  { filterType: 'metadata', value: 0.1, matches: [0.1, '0.1', [0.1]], misses: ['.1', 0.10000001, missing] },
  { filterType: 'metadata', value: -5, matches: [-5, '-5'], misses: [5, missing] },
  {
    filterType: 'metadata',
    value: 'true',
    matches: [true, 'true', [true], ['true']],
    matchesIgnoringCase: ['TRUE', ['True']],
    misses: [false, 1, '1', missing, null],
  },
  { filterType: 'metadata', value: true, matches: [true, 'true'], misses: [false, 'yes', missing] },
  { filterType: 'metadata', value: false, matches: [false, 'false'], misses: [true, 0, '', missing, null] },
  { filterType: 'metadata', value: '', matches: ['', ['']], misses: [' ', [], missing, null, 0] },
  { filterType: 'metadata', value: 'null', matches: ['null', ['null']], misses: [null, [null], missing] },
  {
    filterType: 'metadata',
    value: 'ÄRGER',
    matches: ['ÄRGER'],
    matchesIgnoringCase: ['ärger', ['x', 'Ärger']],
    misses: ['ARGER', missing],
  },
  { filterType: 'metadata', value: `o'"\\;--`, matches: [`o'"\\;--`, [`o'"\\;--`]], misses: [`o'`, missing] },
  { filterType: 'metadata', value: '%', matches: ['%'], misses: ['a', '%%', missing] },
  { filterType: 'metadata', value: 'a\u0000', matches: [], misses: ['a', missing] },
  // numeric: numbers and numeric strings only
  {
    filterType: 'numeric',
    value: '5',
    matches: [5, '5', '5.0', ' 5 ', '+5', '0.5e1'],
    misses: [4, '4', 'five', true, [5], {}, '', missing],
  },
  {
    filterType: 'numeric',
    value: 5,
    operator: '>',
    matches: [6, '5.01', '1e3', 1e300],
    misses: [5, '5', -6, 'x6', [6], missing],
  },
  { filterType: 'numeric', value: 5, operator: '>=', matches: [5, 6, '5'], misses: [4.99, missing] },
  {
    filterType: 'numeric',
    value: 5,
    operator: '<',
    matches: [4, '-1', '.5', '5.'.replace('5', '4')],
    misses: [5, 6, '', missing],
  },
  {
    filterType: 'numeric',
    value: 5,
    operator: '<=',
    matches: [5, '5', -1e300],
    misses: [6, '1e400000', '9'.repeat(99), 'NaN', 'Infinity', missing],
  },
  { filterType: 'numeric', value: '-1.5e-3', operator: '=', matches: [-0.0015, '-0.0015'], misses: [0.0015, missing] },
  // array_contains: arrays only
  {
    filterType: 'array_contains',
    value: 'Urgent',
    matches: [['Urgent'], ['a', 'Urgent']],
    matchesIgnoringCase: [['URGENT']],
    misses: ['Urgent', ['Urgently'], [], missing, { Urgent: 1 }, null, 1],
  },
  { filterType: 'array_contains', value: '7', matches: [['7'], [7]], misses: [7, '7', [77], missing] },
  { filterType: 'array_contains', value: true, matches: [[true], ['true']], misses: [true, [false], missing] },
  // string_contains: strings only, nothing is a wildcard
  {
    filterType: 'string_contains',
    value: 'Pay',
    matches: ['Pay', 'RePayment'],
    matchesIgnoringCase: ['pay', 'REPAY'],
    misses: [['Pay'], 'Pa', missing, 1, true, null],
  },
  { filterType: 'string_contains', value: '50%', matches: ['is 50% off'], misses: ['is 500 off', '50', missing] },
  { filterType: 'string_contains', value: 'a_b', matches: ['xa_bx'], misses: ['axb', missing] },
  { filterType: 'string_contains', value: '\\', matches: ['a\\b'], misses: ['a/b', missing] },
  { filterType: 'string_contains', value: '', matches: ['', 'anything'], misses: [5, ['x'], missing] },
  { filterType: 'string_contains', value: 12, matches: ['a12b'], misses: [12, 123, missing] },
  { filterType: 'string_contains', value: '\u0000', matches: [], misses: ['x', missing] },
];

function title(row: Row): string {
  return `${row.filterType} ${row.operator ?? ''} ${JSON.stringify(row.value)}`;
}

function numberLike(stored: unknown): boolean {
  return (
    typeof stored === 'number' ||
    (typeof stored === 'string' && /^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?\s*$/i.test(stored) && stored.length < 60)
  );
}

describe.each(engines)('filters on %s', (engine) => {
  let opened: TestDatabase;
  let database: Database;

  beforeAll(async () => {
    opened = await openTestDatabase(engine);
    database = opened.database;
  });
  afterAll(() => opened.close());

  async function evaluate(filter: Filter, metadata: unknown): Promise<boolean | null> {
    const stored = metadata === undefined ? null : JSON.stringify(metadata);
    const [row] = await database.query<{ matched: boolean | null }>(sql`
      select ${compileFilter(filter, sql`m.metadata`)} as matched
      from (select ${stored}::jsonb as metadata) m`);
    return row!.matched;
  }

  function metadataOf(stored: unknown): Record<string, unknown> {
    return stored === missing ? { other: 'Red' } : { k: stored, other: 'x' };
  }

  /** Expected and found as one list, so that a failure shows every wrong value at once. */
  async function compare(filter: Filter, cases: { stored: unknown; expected: boolean }[]): Promise<void> {
    const found: string[] = [];
    for (const { stored } of cases)
      found.push(`${JSON.stringify(stored) ?? 'missing'}: ${await evaluate(filter, metadataOf(stored))}`);
    expect(found).toEqual(cases.map(({ stored, expected }) => `${JSON.stringify(stored) ?? 'missing'}: ${expected}`));
  }

  describe.each(rows.map((row) => [title(row), row] as const))('%s', (_, row) => {
    const plain = condition(row.filterType, row.value, { numericOperator: row.operator ?? '=' });
    const folded = row.matchesIgnoringCase ?? [];
    const all = [...row.matches, ...folded, ...row.misses];

    test('matches what it should', async () => {
      await compare(
        plain,
        all.map((stored) => ({ stored, expected: row.matches.includes(stored) })),
      );
    });

    test('ignores case when asked to', async () => {
      const expected = [...row.matches, ...folded];
      await compare(
        { ...plain, ignoreCase: true },
        all.map((stored) => ({ stored, expected: expected.includes(stored) })),
      );
    });

    test('negates', async () => {
      const negated = (stored: unknown) =>
        row.filterType === 'numeric'
          ? numberLike(stored) && !row.matches.includes(stored)
          : !row.matches.includes(stored);
      await compare(
        { ...plain, negate: true },
        all.map((stored) => ({ stored, expected: negated(stored) })),
      );
    });

    test('negates ignoring case', async () => {
      const matched = [...row.matches, ...folded];
      const negated = (stored: unknown) =>
        row.filterType === 'numeric' ? numberLike(stored) && !matched.includes(stored) : !matched.includes(stored);
      await compare(
        { ...plain, negate: true, ignoreCase: true },
        all.map((stored) => ({ stored, expected: negated(stored) })),
      );
    });
  });

  test('null metadata is as empty metadata', async () => {
    for (const type of ['metadata', 'numeric', 'array_contains', 'string_contains'] as const) {
      expect(await evaluate(condition(type, '1'), undefined), type).toBe(false);
      expect(await evaluate(condition(type, '1', { negate: true }), undefined), type).toBe(type !== 'numeric');
    }
  });

  test('a key is a name, or else a path, and is case-sensitive', async () => {
    const filter = condition('metadata', 'x', { key: 'a.B-c_d' });
    expect(await evaluate(filter, { 'a.B-c_d': 'x' })).toBe(true);
    expect(await evaluate(filter, { a: { 'B-c_d': 'x' } })).toBe(true);
    expect(await evaluate(filter, { 'a.B-c_d': 'y', a: { 'B-c_d': 'x' } })).toBe(false);
    expect(await evaluate(filter, { a: 'x' })).toBe(false);
    expect(await evaluate(filter, { 'a.b-c_d': 'x' })).toBe(false);
    expect(await evaluate(condition('metadata', 'x', { key: `k' or true --` }), { k: 'x' })).toBe(false);
  });

  test('an exact condition knows types, takes a list for no entry of it, and a key for one name', async () => {
    const exact = (type: Type, value: Value, more: Partial<FilterCondition> = {}) =>
      condition(type, value, { exact: true, ...more });
    const stored = ['5', 5, true, 'true', ['5'], [5], { a: '5' }, null, undefined, 'A'];
    for (const [filter, matches] of [
      [exact('metadata', '5'), ['5']],
      [exact('metadata', 5), [5]],
      [exact('metadata', true), [true]],
      [exact('metadata', 'a', { ignoreCase: true }), ['A']],
      [exact('numeric', 4, { numericOperator: '>' }), [5]],
      [exact('array_contains', '5'), [['5']]],
      [exact('string_contains', '5'), ['5']],
    ] as const) {
      for (const value of stored) {
        const metadata = value === undefined ? {} : { k: value };
        const expected = matches.some((one) => JSON.stringify(one) === JSON.stringify(value));
        expect([filter, value, await evaluate(filter, metadata)]).toEqual([filter, value, expected]);
        if (filter.filterType === 'numeric') continue;
        expect([filter, value, await evaluate({ ...filter, negate: true }, metadata)]).toEqual([
          filter,
          value,
          !expected,
        ]);
      }
    }
    const dotted = exact('metadata', 'x', { key: 'a.b' });
    expect(await evaluate(dotted, { a: { b: 'x' } })).toBe(false);
    expect(await evaluate(dotted, { 'a.b': 'x' })).toBe(true);
  });

  test('internal keys are as missing', async () => {
    const metadata = { sm_internal_group: '1', sm_source: '1' };
    for (const type of ['metadata', 'numeric', 'string_contains'] as const) {
      expect(await evaluate(condition(type, '1', { key: 'sm_internal_group' }), metadata), type).toBe(false);
      expect(await evaluate(condition(type, '1', { key: 'sm_source' }), metadata), type).toBe(true);
    }
    expect(await evaluate(condition('metadata', '1', { key: 'sm_internal_group', negate: true }), metadata)).toBe(true);
  });

  test('groups combine', async () => {
    const a = condition('metadata', '1', { key: 'a' });
    const b = condition('metadata', '1', { key: 'b' });
    const c = condition('metadata', '1', { key: 'c' });
    const filter: Filter = { and: [a, { or: [b, c] }] };
    const found = [];
    for (let bits = 0; bits < 8; bits++) {
      found.push(await evaluate(filter, { a: bits & 1, b: (bits >> 1) & 1, c: (bits >> 2) & 1 }));
    }
    expect(found).toEqual([false, false, false, true, false, true, false, true]);
    expect(await evaluate({ and: [] }, {})).toBe(true);
    expect(await evaluate({ or: [] }, {})).toBe(false);
  });

  test('a numeric condition without a finite number is refused', () => {
    for (const value of ['five', '', ' ', Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => compileFilter(condition('numeric', value), sql`metadata`)).toThrow(
        expect.objectContaining({ code: 'invalid_request' }),
      );
    }
  });

  test('200 conditions in 8 levels are compiled and run', async () => {
    const types = ['metadata', 'string_contains', 'array_contains', 'numeric'] as const;
    const many = (count: number) =>
      Array.from({ length: count }, (_, index) =>
        condition(types[index % 4]!, index, { key: `k${index}`, ignoreCase: index % 3 === 0, negate: true }),
      );
    let filter: Filter = { and: many(102) };
    for (let level = 0; level < 7; level++) filter = { or: [filter, ...many(14)] };
    const rows = await database.query(sql`
      select ${compileFilter(filter, sql`m.metadata`)} as matched
      from (select jsonb_build_object('k1', n) as metadata from generate_series(1, 100) n) m`);
    expect(rows).toHaveLength(100);
  });
});
