import { type Sql, rawSql } from './sql.ts';

/**
 * Runs statements. Values come back alike from every adapter: `int8` and `count(*)` as
 * number, `timestamptz` as Date, `jsonb` parsed, arrays as arrays, `vector` as text `[1,2]`,
 * `bytea` as Uint8Array. Parameters: a Date, number, string, boolean, null, Uint8Array (bytea),
 * or an array of one of these for `$1::text[]` and the like; JSON goes in as
 * `JSON.stringify(value)` with a `::jsonb` cast. Text must not hold U+0000.
 */
export interface Queryable {
  query<Row>(statement: Sql): Promise<Row[]>;
  /** Runs a statement and returns the number of rows it touched. */
  execute(statement: Sql): Promise<number>;
}

/** For those who may look and must not write. */
export type Reader = Pick<Queryable, 'query'>;

export type Transaction = Queryable;

export interface Database extends Queryable {
  readonly engine: 'postgres' | 'pglite';
  /**
   * Runs `work` in one transaction: committed when it resolves, rolled back when it throws.
   * The database stops one of two transactions that wait for each other; `work` is then called
   * again, so beside what it asks of `tx` it changes nothing that it may not change twice.
   * Inside, only `tx` may be used: a query on the database itself in the same asynchronous
   * context throws at once on every adapter (on PGlite it would wait for itself for ever).
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
  /**
   * Runs a statement outside of any transaction, with settings of the server that hold for it alone
   * (`{ maintenance_work_mem: '256MB' }`). Returns the number of rows it touched.
   */
  executeWith(settings: Readonly<Record<string, string>>, statement: Sql): Promise<number>;
  /** Runs a script of several statements without parameters (migrations). Not inside a transaction. */
  script(text: string): Promise<void>;
  close(): Promise<void>;
}

/** The database's size on disk in bytes, without its log; null where its user may not read that. */
export async function databaseBytes(database: Queryable): Promise<number | null> {
  const [row] = await database.query<{ bytes: number | null }>(
    rawSql(`select case when has_database_privilege(current_database(), 'connect')
      then pg_database_size(current_database())::bigint end as bytes`),
  );
  return row?.bytes ?? null;
}
