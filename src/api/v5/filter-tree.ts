import { MemorydError } from '../../base/errors.ts';
import type { Filter } from '../filters.ts';
import { invalidField } from '../validation.ts';

type Condition = Extract<Filter, { key: string }>;
type Path = (string | number)[];

const maxLevels = 5;
const maxOperands = 200;
/** In the whole tree; each becomes a part of one statement. */
const maxConditions = 1_000;
const fieldPattern = /^[a-zA-Z0-9_.-]{1,256}$/;

type Meaning = Pick<Condition, 'filterType' | 'numericOperator' | 'negate'>;

function meaning(filterType: Condition['filterType'], more: Partial<Meaning> = {}): Meaning {
  return { filterType, numericOperator: '=', negate: false, ...more };
}

const operators = {
  eq: meaning('metadata'),
  neq: meaning('metadata', { negate: true }),
  gt: meaning('numeric', { numericOperator: '>' }),
  gte: meaning('numeric', { numericOperator: '>=' }),
  lt: meaning('numeric', { numericOperator: '<' }),
  lte: meaning('numeric', { numericOperator: '<=' }),
  contains: meaning('string_contains'),
  notContains: meaning('string_contains', { negate: true }),
  arrayContains: meaning('array_contains'),
  arrayNotContains: meaning('array_contains', { negate: true }),
} as const;

/**
 * Reads the filter of a v5 request into the tree that the legacy filters become, too. Throws
 * `validation_failed` with the place of what is wrong, `invalid_request` for more conditions than can be asked at once.
 */
export function parseFilterTree(input: unknown): { filters?: Filter } {
  if (input === undefined) return {};
  return { filters: parseNode(input, ['filter'], 1, { conditions: 0 }) };
}

/** `level` is that of a group that stands here; `count` is shared by the whole tree. */
function parseNode(input: unknown, path: Path, level: number, count: { conditions: number }): Filter {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    throw invalidField(path, `${path.at(-1)} must be an object with an operator`);
  }
  const node = input as Record<string, unknown>;
  if (node['operator'] === 'and' || node['operator'] === 'or') return parseGroup(node, path, level, count);
  count.conditions += 1;
  if (count.conditions > maxConditions) {
    throw new MemorydError('invalid_request', `filter may have ${maxConditions} conditions in all`);
  }
  return parseCondition(node, path);
}

function parseGroup(node: Record<string, unknown>, path: Path, level: number, count: { conditions: number }): Filter {
  refuseUnknown(node, ['operator', 'operands'], path);
  if (level > maxLevels) throw invalidField(path, `filter may be nested ${maxLevels} levels deep`);
  const { operands } = node;
  if (!Array.isArray(operands) || operands.length === 0 || operands.length > maxOperands) {
    throw invalidField([...path, 'operands'], `operands must be 1 to ${maxOperands} filters`);
  }
  const parsed = operands.map((one, place) => parseNode(one, [...path, 'operands', place], level + 1, count));
  return node['operator'] === 'and' ? { and: parsed } : { or: parsed };
}

function parseCondition(node: Record<string, unknown>, path: Path): Condition {
  const { field, operator, value, caseSensitive } = node;
  refuseUnknown(node, ['field', 'operator', 'value', 'caseSensitive'], path);
  if (typeof operator !== 'string' || !Object.hasOwn(operators, operator)) {
    const known = ['and', 'or', ...Object.keys(operators)].join(', ');
    throw invalidField([...path, 'operator'], `operator must be one of ${known}`);
  }
  if (typeof field !== 'string' || !fieldPattern.test(field)) {
    throw invalidField([...path, 'field'], 'field must be letters, digits, underscores, dots and hyphens');
  }
  const { filterType, ...rest } = operators[operator as keyof typeof operators];
  if (!fits(value, filterType)) throw invalidField([...path, 'value'], `value must be ${expected[filterType]}`);
  const takesCase = typeof value === 'string' && filterType !== 'array_contains';
  if (caseSensitive !== undefined && (!takesCase || typeof caseSensitive !== 'boolean')) {
    const rule = takesCase ? 'must be true or false' : 'is only for eq, neq, contains and notContains with a text';
    throw invalidField([...path, 'caseSensitive'], `caseSensitive ${rule}`);
  }
  return { key: field, value, filterType, ...rest, ignoreCase: caseSensitive === false, exact: true };
}

const expected: Record<Condition['filterType'], string> = {
  metadata: 'a string, a number or a boolean',
  numeric: 'a number',
  string_contains: 'a string',
  array_contains: 'a string',
};

function fits(value: unknown, filterType: Condition['filterType']): value is Condition['value'] {
  if (filterType === 'numeric') return Number.isFinite(value);
  if (typeof value === 'string') return true;
  return filterType === 'metadata' && (typeof value === 'boolean' || Number.isFinite(value));
}

function refuseUnknown(node: Record<string, unknown>, known: readonly string[], path: Path): void {
  const unknown = Object.keys(node).find((key) => !known.includes(key));
  if (unknown === undefined) return;
  const place = [...path, unknown.slice(0, 64)];
  throw invalidField(place, `${unknown.slice(0, 64)} is not known here; known are ${known.join(', ')}`);
}
