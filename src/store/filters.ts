/** Section 8 of the API, after validation and with its defaults filled in. */
export type Filter = { and: Filter[] } | { or: Filter[] } | FilterCondition;

export interface FilterCondition {
  key: string;
  value: string | number | boolean;
  filterType: 'metadata' | 'numeric' | 'array_contains' | 'string_contains';
  numericOperator: '>' | '<' | '>=' | '<=' | '=';
  negate: boolean;
  ignoreCase: boolean;
}
