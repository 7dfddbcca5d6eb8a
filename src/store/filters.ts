import { firstOf } from '../base/collections.ts';
import { MemorydError } from '../base/errors.ts';
import { rawSql, sql, type Sql } from './sql.ts';

/** Section 8 of the API, after validation and with its defaults filled in. */
export type Filter = { and: Filter[] } | { or: Filter[] } | FilterCondition;

export interface FilterCondition {
  key: string;
  value: string | number | boolean;
  filterType: 'metadata' | 'numeric' | 'array_contains' | 'string_contains';
  numericOperator: '>' | '<' | '>=' | '<=' | '=';
  negate: boolean;
  ignoreCase: boolean;
  /** Values of another type are another value, a list is none of its entries, and dots belong to the key. */
  exact?: true;
}

/** The metadata that filters see of a document `d`: its fields for filters alone, overlaid by its own metadata. */
export const filterable = rawSql("(coalesce(d.filter_by_metadata, '{}') || d.metadata)");

/**
 * The filter as a condition on a `jsonb` column of metadata (null counts as empty). It is
 * true or false, never null. Keys and values travel as parameters.
 * Throws `invalid_request` when a numeric condition's value is no finite number.
 */
export function compileFilter(filter: Filter, metadataColumn: Sql): Sql {
  if ('and' in filter) return group(filter.and, ' and ', 'true', metadataColumn);
  if ('or' in filter) return group(filter.or, ' or ', 'false', metadataColumn);
  return compileCondition(filter, metadataColumn);
}

function group(parts: readonly Filter[], operator: string, whenEmpty: string, column: Sql): Sql {
  if (parts.length === 0) return rawSql(whenEmpty);
  const compiled = parts.map((part) => compileFilter(part, column));
  return sql`(${joinHalves(compiled, rawSql(operator))})`;
}

/** Joining by halves renumbers each parameter log n times instead of n times. */
function joinHalves(parts: readonly Sql[], operator: Sql): Sql {
  if (parts.length === 1) return firstOf(parts);
  const middle = parts.length >> 1;
  return sql`${joinHalves(parts.slice(0, middle), operator)}${operator}${joinHalves(parts.slice(middle), operator)}`;
}

const internalKey = /^sm_internal_/;

function compileCondition(condition: FilterCondition, column: Sql): Sql {
  // Internal keys are never filterable and jsonb holds no U+0000: both are as a missing key.
  const hidden = internalKey.test(condition.key) || `${condition.key}${condition.value}`.includes('\0');
  if (condition.filterType === 'numeric') return hidden ? sql`false` : numeric(condition, column);
  const positive = hidden ? sql`false` : compilePositive(condition, storedValue(column, condition));
  return condition.negate ? sql`not ${positive}` : positive;
}

/** A key with dots names a field as it is, or else what lies at that path. */
function storedValue(column: Sql, { key, exact }: FilterCondition): Sql {
  const whole = sql`(${column} -> ${key}::text)`;
  return key.includes('.') && !exact ? sql`coalesce(${whole}, ${column} #> ${key.split('.')}::text[])` : whole;
}

function compilePositive(condition: FilterCondition, stored: Sql): Sql {
  switch (condition.filterType) {
    case 'string_contains':
      return stringContains(condition, stored);
    case 'array_contains':
      return sql`case when jsonb_typeof(${stored}) = 'array' then ${elementEquals(condition, stored)} else false end`;
    default:
      return condition.exact ? equalsExactly(condition, stored) : equals(condition, stored);
  }
}

/** Both sides as strings; an array matches by any of its elements. */
function equals(condition: FilterCondition, stored: Sql): Sql {
  const number = numberOf(condition.value);
  // 1e21 is written otherwise by jsonb, so numbers are compared as numbers.
  const whenNumber = number === null ? sql`false` : sql`${stored}::numeric = ${number}::numeric`;
  const whenString = sql`${folded(sql`(${stored} #>> '{}')`, condition)} = ${folded(sql`${String(condition.value)}::text`, condition)}`;
  return sql`case jsonb_typeof(${stored})
    when 'array' then ${elementEquals(condition, stored)}
    when 'number' then ${whenNumber}
    when 'string' then ${whenString}
    when 'boolean' then ${whenString}
    else false end`;
}

function equalsExactly({ value, ignoreCase }: FilterCondition, stored: Sql): Sql {
  if (!ignoreCase) return sql`coalesce(${stored} = ${JSON.stringify(value)}::jsonb, false)`;
  return sql`case when jsonb_typeof(${stored}) = 'string'
    then lower(${stored} #>> '{}') = lower(${String(value)}::text) else false end`;
}

/** Whether an array has the value as an element. `?` finds strings, `@>` numbers and booleans. */
function elementEquals(condition: FilterCondition, stored: Sql): Sql {
  const text = String(condition.value);
  // Folding the array as text is safe: JSON's own words and escapes are lower case already.
  const array = condition.ignoreCase ? sql`lower(${stored}::text)::jsonb` : stored;
  const byString = sql`${array} ? ${folded(sql`${text}::text`, condition)}`;
  if (condition.exact) return byString;
  const literal = condition.ignoreCase ? text.toLowerCase() : text;
  if (numberOf(condition.value) === null && literal !== 'true' && literal !== 'false') return byString;
  return sql`(${byString} or ${array} @> ${`[${literal}]`}::jsonb)`;
}

function stringContains(condition: FilterCondition, stored: Sql): Sql {
  const text = folded(sql`(${stored} #>> '{}')`, condition);
  const part = folded(sql`${String(condition.value)}::text`, condition);
  return sql`case when jsonb_typeof(${stored}) = 'string' then strpos(${text}, ${part}) > 0 else false end`;
}

const negated = { '>': '<=', '<': '>=', '>=': '<', '<=': '>', '=': '<>' } as const;
/** Numbers as people and JSON write them; longer ones could overflow when cast. */
const numericText = String.raw`'^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?\s*$'`;
const maxNumericLength = 60;

/** Other types than numbers and numeric strings never match, and neither does a missing key. */
function numeric(condition: FilterCondition, column: Sql): Sql {
  const number = Number(condition.value);
  if (!Number.isFinite(number) || String(condition.value).trim() === '') {
    throw new MemorydError('invalid_request', `The filter on "${condition.key}" needs a number as its value.`);
  }
  const operator = condition.negate ? negated[condition.numericOperator] : condition.numericOperator;
  const stored = storedValue(column, condition);
  const text = sql`(${stored} #>> '{}')`;
  const compared = sql`${rawSql(operator)} ${String(number)}::numeric`;
  if (condition.exact) {
    return sql`case when jsonb_typeof(${stored}) = 'number' then ${stored}::numeric ${compared} else false end`;
  }
  return sql`case jsonb_typeof(${stored})
    when 'number' then ${stored}::numeric ${compared}
    when 'string' then case when length(${text}) <= ${rawSql(String(maxNumericLength))} and ${text} ~ ${rawSql(numericText)}
      then ${text}::numeric ${compared} else false end
    else false end`;
}

function folded(text: Sql, condition: FilterCondition): Sql {
  return condition.ignoreCase ? sql`lower(${text})` : text;
}

/** The number that a value's string form writes the way JSON does, or null. */
function numberOf(value: FilterCondition['value']): string | null {
  if (typeof value === 'boolean') return null;
  const text = String(value);
  const number = Number(text);
  return Number.isFinite(number) && String(number) === text ? text : null;
}
