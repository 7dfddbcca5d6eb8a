import { rawSql, sql, type Sql } from './sql.ts';

/** How a column travels: as an array parameter of a simple type, cast where it is read. */
const transport = {
  text: 'text',
  integer: 'integer',
  bigint: 'bigint',
  boolean: 'boolean',
  timestamptz: 'timestamptz',
  bytea: 'bytea',
  jsonb: 'text',
  vector: 'text',
  'text[]': 'text',
  'smallint[]': 'text',
} as const;

export type ColumnType = keyof typeof transport;

/** Column names with their types, in the order in which they are written. */
export type Columns<Row> = { readonly [Name in keyof Row & string]: ColumnType };

export interface RowSet {
  /** `unnest($1::text[], …) as name(column, …)`: one parameter per column, whatever the number of rows. */
  from: Sql;
  /** The columns, cast to their types. */
  select: Sql;
  /** The bare column names, for an `insert into t (…)`. */
  names: Sql;
}

/**
 * Many rows as one set of array parameters, so that a statement's text and plan do not depend on
 * how many there are.
 */
export function rowSet<Row extends object>(alias: string, columns: Columns<Row>, rows: readonly Row[]): RowSet {
  const entries = Object.entries(columns) as [keyof Row & string, ColumnType][];
  const arrays = entries.map(([name, type]) => {
    const values = rows.map((row) => encode(row[name], type));
    return sql`${values}${rawSql(`::${transport[type]}[]`)}`;
  });
  const names = entries.map(([name]) => name).join(', ');
  const casts = entries.map(([name, type]) => `${alias}.${name}${transport[type] === type ? '' : `::${type}`}`);
  return {
    from: sql`unnest(${commaList(arrays)}) as ${rawSql(`${alias}(${names})`)}`,
    select: rawSql(casts.join(', ')),
    names: rawSql(names),
  };
}

function commaList(parts: readonly Sql[]): Sql {
  return parts.reduce((joined, part) => sql`${joined}, ${part}`);
}

function encode(value: unknown, type: ColumnType): unknown {
  if (value === undefined || value === null) return null;
  switch (type) {
    case 'jsonb':
      return JSON.stringify(value);
    case 'vector':
      return vectorText(value as ArrayLike<number>);
    case 'text[]':
      return textArray(value as readonly string[]);
    case 'smallint[]':
      return `{${(value as readonly number[]).join(',')}}`;
    default:
      return value;
  }
}

/** A vector as pgvector reads it, with 6 decimals: more than a cosine can tell apart, and half the bytes. */
export function vectorText(vector: ArrayLike<number>): string {
  let text = '[';
  for (let index = 0; index < vector.length; index++) {
    if (index > 0) text += ',';
    text += Math.round(vector[index]! * 1e6) / 1e6;
  }
  return `${text}]`;
}

function textArray(values: readonly string[]): string {
  return `{${values.map((value) => `"${value.replace(/[\\"]/g, '\\$&')}"`).join(',')}}`;
}
