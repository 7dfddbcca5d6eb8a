interface FilterRow {
  filterType: 'metadata' | 'numeric' | 'array_contains' | 'string_contains';
  numericOperator?: '>' | '<' | '>=' | '<=' | '=';
  value: string | number | boolean;
  negate?: boolean | 'true' | 'false';
  ignoreCase?: boolean | 'true' | 'false';
  /** Of the documents text "Paid", list ["Paid", "urgent"], number 7, digits "7", flag true, and missing. */
  found: string[];
}

const everything = ['text', 'list', 'number', 'digits', 'flag', 'missing'];
const without = (...names: string[]) => everything.filter((name) => !names.includes(name));

/** Section 8, operator by operator. */
export const filterRows: readonly FilterRow[] = [
  { filterType: 'metadata', value: 'Paid', found: ['text', 'list'] },
  { filterType: 'metadata', value: 'paid', found: [] },
  { filterType: 'metadata', value: 'paid', ignoreCase: true, found: ['text', 'list'] },
  { filterType: 'metadata', value: 'Paid', negate: true, found: without('text', 'list') },
  { filterType: 'metadata', value: 'PAID', negate: 'true', ignoreCase: 'true', found: without('text', 'list') },
  { filterType: 'metadata', value: '7', found: ['number', 'digits'] },
  { filterType: 'metadata', value: true, found: ['flag'] },
  { filterType: 'metadata', value: 'Paid', numericOperator: '<', found: ['text', 'list'] },
  { filterType: 'array_contains', value: 'urgent', found: ['list'] },
  { filterType: 'array_contains', value: 'URGENT', ignoreCase: true, found: ['list'] },
  { filterType: 'array_contains', value: 'Paid', negate: true, found: without('list') },
  { filterType: 'array_contains', value: 'PAID', negate: true, ignoreCase: true, found: without('list') },
  { filterType: 'string_contains', value: 'ai', found: ['text'] },
  { filterType: 'string_contains', value: 'AI', found: [] },
  { filterType: 'string_contains', value: 'AI', ignoreCase: true, found: ['text'] },
  { filterType: 'string_contains', value: 'ai', negate: true, found: without('text') },
  { filterType: 'string_contains', value: 'AI', negate: true, ignoreCase: true, found: without('text') },
  { filterType: 'string_contains', value: '%', found: [] },
  { filterType: 'numeric', value: '7', found: ['number', 'digits'] },
  { filterType: 'numeric', value: 7, numericOperator: '=', negate: true, found: [] },
  { filterType: 'numeric', value: 6, numericOperator: '>', found: ['number', 'digits'] },
  { filterType: 'numeric', value: 7, numericOperator: '>', negate: true, found: ['number', 'digits'] },
  { filterType: 'numeric', value: 7, numericOperator: '>=', found: ['number', 'digits'] },
  { filterType: 'numeric', value: 7, numericOperator: '>=', negate: true, found: [] },
  { filterType: 'numeric', value: 7, numericOperator: '<', found: [] },
  {
    filterType: 'numeric',
    value: 7,
    numericOperator: '<',
    negate: true,
    ignoreCase: true,
    found: ['number', 'digits'],
  },
  { filterType: 'numeric', value: 7.5, numericOperator: '<=', found: ['number', 'digits'] },
];

/** A filter of this many levels, the root being the first. */
export function nested(levels: number): object {
  const condition = { key: 'key', value: 'x' };
  return Array.from({ length: levels }).reduce<object>(
    (inner, _, level) => ({ [level % 2 ? 'AND' : 'OR']: [inner] }),
    condition,
  );
}
