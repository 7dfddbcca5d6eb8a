import { firstOf } from '../base/collections.ts';

/** A statement with its parameters. Made by the `sql` tag, run by a `Database` or `Transaction`. */
export interface Sql {
  readonly text: string;
  readonly values: readonly unknown[];
}

const fragments = new WeakSet<Sql>();

function isFragment(value: unknown): value is Sql {
  return typeof value === 'object' && value !== null && fragments.has(value as Sql);
}

function make(text: string, values: readonly unknown[]): Sql {
  const statement: Sql = { text, values };
  fragments.add(statement);
  return statement;
}

/**
 * Tagged template for SQL. Interpolated values become parameters `$1, $2, …`; an interpolated
 * `sql` fragment is spliced in with its own parameters renumbered. Text is never concatenated
 * from values, so there is nothing to escape.
 */
export function sql(strings: readonly string[], ...parts: unknown[]): Sql {
  let text = firstOf(strings);
  const values: unknown[] = [];
  for (const [index, part] of parts.entries()) {
    if (isFragment(part)) {
      const offset = values.length;
      text += part.text.replace(/\$(\d+)/g, (_, number: string) => `$${Number(number) + offset}`);
      values.push(...part.values);
    } else {
      values.push(part);
      text += `$${values.length}`;
    }
    text += strings[index + 1]!;
  }
  return make(text, values);
}

/** Fragments joined by a separator, e.g. conditions by `and`. */
export function joinSql(parts: readonly Sql[], separator: string): Sql {
  if (parts.length === 0) return sql``;
  return sql(['', ...new Array<string>(parts.length - 1).fill(separator), ''], ...parts);
}

/** SQL text that the code itself wrote: names of indexes and operators, never input. */
export function rawSql(text: string): Sql {
  return make(text, []);
}

/** Whether one of some columns contains a text, in upper or lower case. No index serves it. */
export function containsText(columns: readonly Sql[], text: string): Sql {
  const each = columns.map((column) => sql`position(lower(${text}) in lower(${column})) > 0`);
  return sql`(${joinSql(each, ' or ')})`;
}

/** How a column travels: as an array parameter of a simple type, cast where it is read. */
const transport = {
  text: 'text',
  integer: 'integer',
  bigint: 'bigint',
  boolean: 'boolean',
  timestamptz: 'timestamptz',
  bytea: 'bytea',
  jsonb: 'text',
  /** Where it starts in an array of numbers that holds the vectors of all rows. */
  vector: 'integer',
  /** Texts without spaces, joined by one: cheaper on both sides than an array within an array. */
  words: 'text',
  'smallint[]': 'text',
  'integer[]': 'text',
} as const;

export type ColumnType = keyof typeof transport;

/** The fields of a row with the types of their columns, in the order in which they are written. */
export type Columns<Row> = { readonly [Name in keyof Row & string]: ColumnType };

/** `textHash` is stored in the column `text_hash`. */
function columnOf(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

export interface RowSet {
  /** `unnest($1::text[], …) as name(column, …)`: a fixed number of parameters, whatever the number of rows. */
  from: Sql;
  /** The columns, cast to their types. */
  select: Sql;
  /** The bare names of the columns, for an `insert into t (…)`. */
  names: Sql;
}

/**
 * Many rows as one set of array parameters, so that a statement's text and plan do not depend on
 * how many there are.
 */
export function rowSet<Row extends object>(alias: string, columns: Columns<Row>, rows: readonly Row[]): RowSet {
  const entries = Object.entries(columns) as [keyof Row & string, ColumnType][];
  const sent = entries.flatMap(([field, type]) => send(alias, field, type, rows));
  const arrays = sent.flatMap((column) => column.arrays);
  const unnested = joinSql(
    arrays.map(({ array }) => array),
    ', ',
  );
  const read = sent.map((column) => column.read);
  return {
    from: sql`unnest(${unnested}) as ${rawSql(`${alias}(${arrays.map(({ name }) => name).join(', ')})`)}`,
    select: joinSql(read, ', '),
    names: rawSql(entries.map(([field]) => columnOf(field)).join(', ')),
  };
}

interface SentColumn {
  /** The arrays to unnest, with their names. */
  arrays: { name: string; array: Sql }[];
  /** How a row's value is read. */
  read: Sql;
}

function send<Row extends object>(
  alias: string,
  field: keyof Row & string,
  type: ColumnType,
  rows: readonly Row[],
): SentColumn {
  const name = columnOf(field);
  const column = `${alias}.${name}`;
  if (type === 'vector') {
    const vectors = vectorArray(rows.map((row) => (row[field] ?? null) as ArrayLike<number> | null));
    const starts = { name, array: sql`${vectors.starts}::integer[]` };
    const ends = { name: `${name}_end`, array: sql`${vectors.ends}::integer[]` };
    const read = sql`(${vectors.bytes}::float4[])[${rawSql(`${column}:${column}_end]::vector`)}`;
    return { arrays: [starts, ends], read };
  }
  const values = rows.map((row) => encode(row[field], type));
  const parameter = transport[type] === 'text' ? textArray(values as (string | null)[]) : values;
  const array = sql`${parameter}${rawSql(`::${transport[type]}[]`)}`;
  return { arrays: [{ name, array }], read: rawSql(readColumn(column, type)) };
}

function readColumn(column: string, type: Exclude<ColumnType, 'vector'>): string {
  if (transport[type] === type) return column;
  return type === 'words' ? `string_to_array(${column}, ' ')` : `${column}::${type}`;
}

/**
 * An array of texts as PostgreSQL reads it. The driver would make the same, but searches every text
 * for what must be escaped by regular expressions.
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
  // As it travels already.
  if (typeof value === 'string' && type !== 'jsonb') return value;
  switch (type) {
    case 'jsonb':
      return JSON.stringify(value);
    case 'words':
      return (value as readonly string[]).join(' ');
    case 'smallint[]':
    case 'integer[]':
      return `{${(value as readonly number[]).join(',')}}`;
    default:
      return value;
  }
}

/** The oid of `float4`, the same in every database (pg_type.dat). */
const float4 = 700;
const headerBytes = 20;
/** Four bytes that say how long it is, and the number itself. */
const bytesPerNumber = 8;
/** A length of 4 as the processor writes the bytes 0, 0, 0, 4. */
const lengthWord = new Uint32Array(new Uint8Array([0, 0, 0, 4]).buffer)[0]!;
const isLittleEndian = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1;

/** Vectors one behind the other. `starts[i]` and `ends[i]` are the bounds of the i-th, null where it is null. */
interface VectorArray {
  /** A `float4[]` in PostgreSQL's binary format, which the driver sends as it is. */
  bytes: Buffer;
  /** One-based and inclusive, as in `array[start:end]`. */
  starts: (number | null)[];
  ends: (number | null)[];
}

/**
 * Many vectors as one array of numbers in binary: what reading and writing their texts costs is most
 * of what inserting them costs, on both sides.
 */
export function vectorArray(vectors: readonly (ArrayLike<number> | null)[]): VectorArray {
  const count = vectors.reduce((sum, vector) => sum + (vector?.length ?? 0), 0);
  const bytes = Buffer.from(new ArrayBuffer(headerBytes + count * bytesPerNumber));
  writeHeader(bytes, count);
  const words = new Uint32Array(bytes.buffer, headerBytes);
  const array: VectorArray = { bytes, starts: [], ends: [] };
  let end = 0;
  for (const vector of vectors) {
    array.starts.push(vector === null ? null : end + 1);
    if (vector !== null) end = writeNumbers(words, end, vector);
    array.ends.push(vector === null ? null : end);
  }
  return array;
}

/** Array of one dimension without nulls (array_recv in PostgreSQL's arrayfuncs.c); of none when it is empty. */
function writeHeader(bytes: Buffer, count: number): void {
  bytes.writeInt32BE(1, 0);
  bytes.writeInt32BE(0, 4);
  bytes.writeInt32BE(float4, 8);
  bytes.writeInt32BE(count, 12);
  bytes.writeInt32BE(1, 16);
}

/** Returns how many numbers there are now. */
function writeNumbers(words: Uint32Array, start: number, vector: ArrayLike<number>): number {
  const numbers = vector instanceof Float32Array ? vector : Float32Array.from(vector);
  const bits = new Uint32Array(numbers.buffer, numbers.byteOffset, numbers.length);
  for (let index = 0; index < bits.length; index++) {
    const word = 2 * (start + index);
    words[word] = lengthWord;
    words[word + 1] = isLittleEndian ? swapBytes(bits[index]!) : bits[index]!;
  }
  return start + bits.length;
}

function swapBytes(word: number): number {
  return (word << 24) | ((word & 0xff00) << 8) | ((word >>> 8) & 0xff00) | (word >>> 24);
}
