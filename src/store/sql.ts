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
  return sql(['', ...Array.from({ length: parts.length - 1 }, () => separator), ''], ...parts);
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
