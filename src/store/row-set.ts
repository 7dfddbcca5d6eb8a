import { rawSql, sql, type Sql } from './sql.ts';
import { vectorText } from './vector-text.ts';

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
  /** Texts without spaces, joined by one: cheaper on both sides than an array within an array. */
  words: 'text',
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
    const parameter = transport[type] === 'text' ? textArray(values as (string | null)[]) : values;
    return sql`${parameter}${rawSql(`::${transport[type]}[]`)}`;
  });
  const names = entries.map(([name]) => name).join(', ');
  const casts = entries.map(([name, type]) => readColumn(`${alias}.${name}`, type));
  return {
    from: sql`unnest(${commaList(arrays)}) as ${rawSql(`${alias}(${names})`)}`,
    select: rawSql(casts.join(', ')),
    names: rawSql(names),
  };
}

function readColumn(column: string, type: ColumnType): string {
  if (transport[type] === type) return column;
  return type === 'words' ? `string_to_array(${column}, ' ')` : `${column}::${type}`;
}

function commaList(parts: readonly Sql[]): Sql {
  return parts.reduce((joined, part) => sql`${joined}, ${part}`);
}

/**
 * An array of texts as PostgreSQL reads it. The driver would make the same, but searches every text
 * for what must be escaped by regular expressions, and vectors are long and hold nothing of the kind.
 */
function textArray(values: readonly (string | null)[]): string {
  const elements = values.map((value) => {
    if (value === null) return 'NULL';
    const plain = !value.includes('"') && !value.includes('\\');
    return plain ? `"${value}"` : `"${value.replace(/["\\]/g, '\\$&')}"`;
  });
  return `{${elements.join(',')}}`;
}

function encode(value: unknown, type: ColumnType): unknown {
  if (value === undefined || value === null) return null;
  switch (type) {
    case 'jsonb':
      return JSON.stringify(value);
    case 'vector':
      return vectorText(value as ArrayLike<number>);
    case 'words':
      return (value as readonly string[]).join(' ');
    case 'smallint[]':
      return `{${(value as readonly number[]).join(',')}}`;
    default:
      return value;
  }
}
