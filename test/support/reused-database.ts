import { MemorydError } from '../../src/base/errors.ts';
import type { Database } from '../../src/store/database.ts';
import { rawSql } from '../../src/store/sql.ts';

/**
 * Opens databases that are empty again instead of new: to start an embedded one, or to copy one on a server, takes half
 * a second, to empty it a twentieth of that. What still works with a database that its test has closed is refused, as it
 * would be by one that is really closed. One whose tables or indexes were changed is not used again, and neither is one
 * that another process is connected to, or that has an open transaction.
 */
export function createReuse(open: () => Promise<Database>) {
  const idle: Database[] = [];
  const fresh = new WeakMap<Database, { schema: string; tables: readonly string[] }>();

  async function take(): Promise<Database> {
    const found = idle.pop();
    if (found) return found;
    const opened = await open();
    fresh.set(opened, { schema: await schemaOf(opened), tables: await tablesOf(opened) });
    return opened;
  }

  async function giveBack(database: Database): Promise<void> {
    const { schema, tables } = fresh.get(database)!;
    const isUsable = await empty(database, tables).then(
      async (isEmpty) => isEmpty && (await schemaOf(database)) === schema,
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
    executeWith: (settings, statement) => use(() => database.executeWith(settings, statement)),
    script: (text) => use(() => database.script(text)),
    close: () => (closing ??= Promise.allSettled(underWay).then(() => giveBack(database))),
  };
}

async function schemaOf(database: Database): Promise<string> {
  const [row] = await database.query<{ schema: string }>(
    rawSql(`select md5(concat_ws(' ',
      (select string_agg(format('%s %s %s', c.relname, c.relkind, i.indisvalid), ',' order by c.relname)
        from pg_class c left join pg_index i on i.indexrelid = c.oid where c.relnamespace = 'public'::regnamespace),
      (select string_agg(format('%s %s %s %s', c.relname, a.attname, a.atttypid, a.attnotnull), ',' order by c.relname, a.attnum)
        from pg_attribute a join pg_class c on c.oid = a.attrelid where c.relnamespace = 'public'::regnamespace),
      (select string_agg(format('%s %s', t.tgname, t.tgenabled), ',' order by t.tgname) from pg_trigger t),
      (select string_agg(p.prosrc, ',' order by p.oid) from pg_proc p where p.pronamespace = 'public'::regnamespace),
      (select string_agg(format('%s %s', e.extname, e.extversion), ',' order by e.extname) from pg_extension e),
      (select string_agg(format('%s %s', s.setrole, s.setconfig), ',' order by s.setrole)
        from pg_db_role_setting s join pg_database d on d.oid = s.setdatabase where d.datname = current_database()),
      (select d.datacl::text from pg_database d where d.datname = current_database())
    )) as schema`),
  );
  return row!.schema;
}

/** False when somebody else works with it. */
async function empty(database: Database, tables: readonly string[]): Promise<boolean> {
  const [others] = await database.query<{ count: number }>(
    rawSql(`select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
      and backend_type = 'client backend'
      and (application_name <> current_setting('application_name') or state <> 'idle')`),
  );
  if (others!.count > 0) return false;
  const filled = await database.query<Filled>(
    rawSql(
      tables
        .map(
          (name) =>
            `select '${name}' as name, pg_total_relation_size('${name}') as bytes where exists (select from ${name})`,
        )
        .join(' union all '),
    ),
  );
  await database.script(`${emptying(filled)}; select pg_advisory_unlock_all()`);
  return true;
}

async function tablesOf(database: Database): Promise<string[]> {
  const tables = await database.query<{ name: string }>(
    rawSql(`select tablename as name from pg_tables where schemaname = 'public' and tablename <> 'schema_migrations'`),
  );
  return tables.map(({ name }) => name);
}

interface Filled {
  name: string;
  /** With its indexes, and with what was deleted before. */
  bytes: number;
}

/** A larger table is truncated, which makes new files for it and for each of its indexes: deleting is faster below. */
const largeBytes = 2_000_000;

function emptying(filled: readonly Filled[]): string {
  const large = filled.filter(({ bytes }) => bytes > largeBytes).map(({ name }) => name);
  const small = filled.filter(({ bytes }) => bytes <= largeBytes).map(({ name }) => `delete from ${name}`);
  const truncate = large.length > 0 ? [`truncate ${large.join(', ')} cascade`] : [];
  // Everything goes, so nothing need be done for each row by foreign keys and triggers.
  return ['begin', ...truncate, 'set local session_replication_role = replica', ...small, 'commit'].join('; ');
}
