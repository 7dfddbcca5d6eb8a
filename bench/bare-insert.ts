import type { Database, Queryable } from '../src/store/database.ts';
import { joinSql, rawSql, sql } from '../src/store/sql.ts';

interface Column {
  name: string;
  type: string;
}

export interface CopiedTable {
  table: string;
  columns: Column[];
  /** Each column's values as text, in one order. */
  values: (string | null)[][];
}

const tables = [
  'container_tags',
  'connections',
  'partitions',
  'documents',
  'document_contents',
  'chunks',
  'sync_items',
];

/** Every row that a pipeline left behind, ready to be inserted again. */
export async function copyRows(database: Database): Promise<CopiedTable[]> {
  const copies: CopiedTable[] = [];
  for (const table of tables) {
    const columns = await database.query<Column>(sql`
      select attname as name, format_type(atttypid, atttypmod) as type from pg_attribute
      where attrelid = ${table}::regclass and attnum > 0 and not attisdropped order by attnum`);
    const list = rawSql(
      columns.map(({ name, type }) => `${name}${type === 'text' ? '' : '::text'} as ${name}`).join(', '),
    );
    const rows = await database.query<Record<string, string | null>>(sql`select ${list} from ${rawSql(table)}`);
    copies.push({ table, columns, values: columns.map(({ name }) => rows.map((row) => row[name] ?? null)) });
  }
  return copies;
}

/**
 * The same rows in their final state into the same schema, by multi-row statements in one transaction and nothing
 * else. Returns milliseconds.
 */
export async function insertBare(database: Database, copies: readonly CopiedTable[], batch = 500): Promise<number> {
  const started = performance.now();
  await database.transaction(async (tx) => {
    for (const copy of copies) await insertTable(tx, copy, batch);
  });
  return performance.now() - started;
}

async function insertTable(tx: Queryable, { table, columns, values }: CopiedTable, batch: number): Promise<void> {
  const count = values[0]?.length ?? 0;
  const names = rawSql(columns.map(({ name }) => name).join(', '));
  const casts = rawSql(columns.map(({ name, type }) => (type === 'text' ? name : `${name}::${type}`)).join(', '));
  for (let start = 0; start < count; start += batch) {
    const arrays = values.map((column) => sql`${column.slice(start, start + batch)}::text[]`);
    await tx.execute(sql`
        insert into ${rawSql(table)} (${names})
        select ${casts} from unnest(${joinSql(arrays, ', ')}) as r(${names})`);
  }
}
