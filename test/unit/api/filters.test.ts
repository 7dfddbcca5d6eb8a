import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseFilters, type Filter } from '../../../src/api/filters.ts';
import { MemorydError } from '../../../src/base/errors.ts';

const defaults = { filterType: 'metadata', numericOperator: '=', negate: false, ignoreCase: false };
const condition = (fields: object = {}) => ({ key: 'team', value: 'payments', ...fields });

function nested(levels: number): object {
  return levels === 1 ? { AND: [condition()] } : { OR: [nested(levels - 1)] };
}

function failureOf(input: unknown): MemorydError {
  try {
    parseFilters(input);
  } catch (error) {
    if (error instanceof MemorydError) return error;
    throw error;
  }
  throw new Error('the filters were accepted');
}

describe('filters', () => {
  it('are optional', () => {
    expect(parseFilters(undefined)).toBeUndefined();
  });

  it('fill in the defaults of a condition', () => {
    expect(parseFilters({ AND: [condition()] })).toEqual({ and: [{ ...condition(), ...defaults }] });
  });

  it('are taken as an object or as its JSON text alike', () => {
    const filters = { OR: [condition({ negate: 'true', ignoreCase: true }), { AND: [condition({ value: 3 })] }] };
    expect(parseFilters(JSON.stringify(filters))).toEqual(parseFilters(filters));
    expect(parseFilters(filters)).toEqual({
      or: [
        { ...condition(), ...defaults, negate: true, ignoreCase: true },
        { and: [{ ...condition({ value: 3 }), ...defaults }] },
      ],
    });
  });

  it('keep a numeric operator on other conditions, where it means nothing', () => {
    const filters = { AND: [condition({ filterType: 'string_contains', numericOperator: '>' })] };
    expect(parseFilters(filters)).toMatchObject({ and: [{ filterType: 'string_contains', numericOperator: '>' }] });
  });

  it.each(['3', '-2.5', '1e3', 4])('take %j as a number', (value) => {
    expect(parseFilters({ AND: [condition({ filterType: 'numeric', value })] })).toBeDefined();
  });

  it.each<[string, unknown, (string | number)[]]>([
    ['a bare condition', condition(), []],
    ['an empty object', {}, []],
    ['an array', [condition()], []],
    ['a number', 5, []],
    ['text that is not JSON', '{AND', []],
    ['JSON text of something else', '"AND"', []],
    ['both AND and OR', { AND: [condition()], OR: [condition()] }, []],
    ['an empty group', { AND: [] }, ['AND']],
    ['a group that is no array', { OR: condition() }, ['OR']],
    ['a null condition', { AND: [null] }, ['AND', 0]],
    ['a missing key', { AND: [{ value: 'x' }] }, ['AND', 0, 'key']],
    ['a key with a space', { AND: [condition({ key: 'a b' })] }, ['AND', 0, 'key']],
    ['a key of 257 characters', { AND: [condition({ key: 'k'.repeat(257) })] }, ['AND', 0, 'key']],
    ['an internal key', { AND: [condition({ key: 'sm_internal_x' })] }, ['AND', 0, 'key']],
    ['a missing value', { AND: [{ key: 'x' }] }, ['AND', 0, 'value']],
    ['a list as value', { AND: [condition({ value: ['x'] })] }, ['AND', 0, 'value']],
    ['null as value', { AND: [condition({ value: null })] }, ['AND', 0, 'value']],
    ['an unknown type', { AND: [condition({ filterType: 'regex' })] }, ['AND', 0, 'filterType']],
    ['an unknown operator', { AND: [condition({ numericOperator: '!=' })] }, ['AND', 0, 'numericOperator']],
    ['a word as negate', { AND: [condition({ negate: 'yes' })] }, ['AND', 0, 'negate']],
    ['a number as ignoreCase', { AND: [condition({ ignoreCase: 1 })] }, ['AND', 0, 'ignoreCase']],
    ['text for a number', { AND: [condition({ filterType: 'numeric', value: 'many' })] }, ['AND', 0, 'value']],
    ['an empty number', { AND: [condition({ filterType: 'numeric', value: ' ' })] }, ['AND', 0, 'value']],
    ['a boolean number', { AND: [condition({ filterType: 'numeric', value: true })] }, ['AND', 0, 'value']],
    ['a hexadecimal number', { AND: [condition({ filterType: 'numeric', value: '0x10' })] }, ['AND', 0, 'value']],
    ['an endless number', { AND: [condition({ filterType: 'numeric', value: Infinity })] }, ['AND', 0, 'value']],
    ['a mistake further down', { AND: [condition(), { OR: [condition({ key: '' })] }] }, ['AND', 1, 'OR', 0, 'key']],
  ])('refuse %s and say where', (_, input, path) => {
    const { code, issues } = failureOf(input);
    expect({ code, path: issues?.[0]?.path }).toEqual({ code: 'validation_failed', path: ['filters', ...path] });
  });

  it('may be 8 levels deep, not 9', () => {
    expect(parseFilters(nested(8))).toBeDefined();
    expect(failureOf(nested(9)).code).toBe('invalid_request');
  });

  it('may have 200 conditions in all, not 201', () => {
    const groups = (sizes: number[]) => ({
      AND: sizes.map((size) => ({ OR: Array.from({ length: size }, condition) })),
    });
    expect(parseFilters(groups([100, 100]))).toBeDefined();
    expect(failureOf(groups([100, 101])).code).toBe('invalid_request');
  });

  it('come out with the shape they went in', () => {
    const leaf = fc.record({
      key: fc.stringMatching(/^[A-Za-z0-9_.-]{1,20}$/).filter((key) => !key.startsWith('sm_internal_')),
      value: fc.oneof(fc.string(), fc.integer(), fc.boolean()),
      negate: fc.constantFrom(true, false, 'true', 'false'),
    });
    const { group } = fc.letrec<{ group: object; entry: object }>((tie) => ({
      group: fc.oneof(
        fc.record({ AND: fc.array(tie('entry'), { minLength: 1, maxLength: 3 }) }),
        fc.record({ OR: fc.array(tie('entry'), { minLength: 1, maxLength: 3 }) }),
      ),
      entry: fc.oneof({ maxDepth: 5, depthSize: 'small' }, leaf, tie('group')),
    }));
    fc.assert(
      fc.property(group, (filters) => {
        expect(shapeOf(parseFilters(filters)!)).toEqual(inputShapeOf(filters));
      }),
    );
  });
});

function shapeOf(filter: Filter): unknown {
  if ('and' in filter) return { AND: filter.and.map(shapeOf) };
  if ('or' in filter) return { OR: filter.or.map(shapeOf) };
  return [filter.key, filter.value, filter.negate];
}

function inputShapeOf(input: any): unknown {
  if (input.AND) return { AND: input.AND.map(inputShapeOf) };
  if (input.OR) return { OR: input.OR.map(inputShapeOf) };
  return [input.key, input.value, String(input.negate) === 'true'];
}
