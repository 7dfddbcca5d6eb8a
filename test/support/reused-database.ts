import { MemorydError } from '../../src/base/errors.ts';
import type { Database } from '../../src/store/database.ts';
import { rawSql } from '../../src/store/sql.ts';

/**
 * Opens databases that are empty again instead of new: to start an embedded one takes half a second, to
 * empty it a twentieth of that. What still works with a database that its test has closed is refused,
 * as it would be by one that is really closed. One whose tables or indexes were changed is not used again.
 */
export function createReuse(open: () => Promise<Database>) {
  const idle: Database[] = [];
  const schemas = new WeakMap<Database, string>();

  async function take(): Promise<Database> {
    const found = idle.pop();
    if (found) return found;
    const opened = await open();
    schemas.set(opened, await schemaOf(opened));
    return opened;
  }

  async function giveBack(database: Database): Promise<void> {
    const isUsable = await empty(database).then(
      async () => (await schemaOf(database)) === schemas.get(database),
      () => false,
    );
    if (isUsable) idle.push(database);
    else await database.close();
  }

  return {
    async open(): Promise<Database> {
      return lend(await take(), giveBack);
    },
    async close(): Promise<void> {
      await Promise.all(idle.splice(0).map((database) => database.close()));
    },
  };
}

function lend(database: Database, giveBack: (database: Database) => Promise<void>): Database {
  const underWay = new Set<Promise<unknown>>();
  let closing: Promise<void> | undefined;

  async function use<Result>(work: () => Promise<Result>): Promise<Result> {
    if (closing) throw new MemorydError('unavailable', 'The database is closed.');
    const working = work();
    underWay.add(working);
    try {
      return await working;
    } finally {
      underWay.delete(working);
    }
  }

  return {
    engine: database.engine,
    query: (statement) => use(() => database.query(statement)),
    execute: (statement) => use(() => database.execute(statement)),
    transaction: (work) => use(() => database.transaction(work)),
    script: (text) => use(() => database.script(text)),
    close: () => (closing ??= Promise.allSettled(underWay).then(() => giveBack(database))),
  };
}

async function schemaOf(database: Database): Promise<string> {
  const [row] = await database.query<{ relations: string }>(
    rawSql(`select string_agg(format('%s %s %s', c.relname, c.relkind, i.indisvalid), ',' order by c.relname) as relations
      from pg_class c left join pg_index i on i.indexrelid = c.oid where c.relnamespace = 'public'::regnamespace`),
  );
  return row!.relations;
}

async function empty(database: Database): Promise<void> {
  const tables = await database.query<{ name: string }>(
    rawSql(`select tablename as name from pg_tables where schemaname = 'public' and tablename <> 'schema_migrations'`),
  );
  const filled = await database.query<{ name: string }>(
    rawSql(tables.map(({ name }) => `select '${name}' as name where exists (select from ${name})`).join(' union all ')),
  );
  const names = filled.map(({ name }) => name).join(', ');
  if (names !== '') await database.script(`truncate ${names} restart identity cascade`);
  await database.script('select pg_advisory_unlock_all()');
}
