import { MemorydError } from '../base/errors.ts';
import type { SearchRequest } from '../search/search.ts';
import { checkBounds, storableJson } from './body.ts';
import { invalidField } from './validation.ts';

export type Filter = NonNullable<SearchRequest['filters']>;
type Condition = Extract<Filter, { key: string }>;
type Path = (string | number)[];

const maxLevels = 8;
const maxConditions = 200;
const keyPattern = /^(?!sm_internal_)[A-Za-z0-9_.-]{1,256}$/;
const numberPattern = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d{1,3})?$/i;
const filterTypes = ['metadata', 'numeric', 'array_contains', 'string_contains'] as const;
const numericOperators = ['>', '<', '>=', '<=', '='] as const;

/**
 * Reads the filters of a request (section 8 of the API): an object or its JSON text. Fills in the defaults.
 * Throws `validation_failed` with the place of what is wrong, `invalid_request` over a limit.
 */
export function parseFilters(input: unknown): Filter | undefined {
  if (input === undefined) return undefined;
  return parseGroup(typeof input === 'string' ? parseText(input) : input, ['filters'], 1, { conditions: 0 });
}

function parseText(text: string): unknown {
  checkBounds(text);
  try {
    return storableJson(JSON.parse(text), text);
  } catch (error) {
    if (MemorydError.is(error)) throw error;
    throw invalidField(['filters'], 'filters must be an object or the JSON text of one');
  }
}

/** `count` is shared by the whole tree. */
function parseGroup(input: unknown, path: Path, level: number, count: { conditions: number }): Filter {
  if (level > maxLevels) throw tooMuch(`filters may be nested ${maxLevels} levels deep`);
  const group = asObject(input, path, 'a group: {"AND": [...]} or {"OR": [...]}');
  const keys = ['AND', 'OR'].filter((name) => Object.hasOwn(group, name));
  const [key, second] = keys;
  if (key === undefined || second !== undefined) throw invalidField(path, 'A group has exactly one of AND and OR');
  const entries = group[key];
  if (!Array.isArray(entries) || entries.length === 0) {
    throw invalidField([...path, key], `${key} must be an array with at least one entry`);
  }
  const parsed = entries.map((entry, index) => parseExpression(entry, [...path, key, index], level, count));
  return key === 'AND' ? { and: parsed } : { or: parsed };
}

function parseExpression(input: unknown, path: Path, level: number, count: { conditions: number }): Filter {
  const object = asObject(input, path, 'a condition or a group');
  if (Object.hasOwn(object, 'AND') || Object.hasOwn(object, 'OR')) return parseGroup(object, path, level + 1, count);
  count.conditions += 1;
  if (count.conditions > maxConditions) throw tooMuch(`filters may have ${maxConditions} conditions`);
  return parseCondition(object, path);
}

function parseCondition(object: Record<string, unknown>, path: Path): Condition {
  const condition: Condition = {
    key: keyOf(object['key'], [...path, 'key']),
    value: valueOf(object['value'], [...path, 'value']),
    filterType: oneOf(object['filterType'], filterTypes, 'metadata', [...path, 'filterType']),
    numericOperator: oneOf(object['numericOperator'], numericOperators, '=', [...path, 'numericOperator']),
    negate: flag(object['negate'], [...path, 'negate']),
    ignoreCase: flag(object['ignoreCase'], [...path, 'ignoreCase']),
  };
  if (condition.filterType === 'numeric' && !isNumeric(condition.value)) {
    throw invalidField([...path, 'value'], 'value must be a number for filterType numeric');
  }
  return condition;
}

function keyOf(input: unknown, path: Path): string {
  if (typeof input === 'string' && keyPattern.test(input)) return input;
  throw invalidField(path, 'key must be 1 to 256 letters, digits, underscores, dots and hyphens');
}

function valueOf(input: unknown, path: Path): string | number | boolean {
  if (typeof input === 'string' || typeof input === 'number' || typeof input === 'boolean') return input;
  throw invalidField(path, 'value must be a string, a number or a boolean');
}

function oneOf<Name extends string>(input: unknown, names: readonly Name[], standard: Name, path: Path): Name {
  if (input === undefined) return standard;
  const found = names.find((name) => name === input);
  if (found === undefined) throw invalidField(path, `${path.at(-1)} must be one of ${names.join(', ')}`);
  return found;
}

/** The official client's types allow the words, too. */
function flag(input: unknown, path: Path): boolean {
  if (input === undefined || input === false || input === 'false') return false;
  if (input === true || input === 'true') return true;
  throw invalidField(path, `${path.at(-1)} must be true or false`);
}

function isNumeric(value: string | number | boolean): boolean {
  if (typeof value === 'boolean') return false;
  return typeof value === 'number' ? Number.isFinite(value) : numberPattern.test(value);
}

function asObject(input: unknown, path: Path, expected: string): Record<string, unknown> {
  if (typeof input === 'object' && input !== null && !Array.isArray(input)) return input as Record<string, unknown>;
  throw invalidField(path, `${path.at(-1)} must be ${expected}`);
}

function tooMuch(message: string): MemorydError {
  return new MemorydError('invalid_request', message);
}
