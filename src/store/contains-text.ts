import { joinSql, sql, type Sql } from './sql.ts';

/** Whether one of some columns contains a text, in upper or lower case. No index serves it. */
export function containsText(columns: readonly Sql[], text: string): Sql {
  const each = columns.map((column) => sql`position(lower(${text}) in lower(${column})) > 0`);
  return sql`(${joinSql(each, ' or ')})`;
}
