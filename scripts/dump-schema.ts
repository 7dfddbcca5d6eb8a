/**
 * Writes src/store/schema.sql: what the migrations come to, read back from the catalog of a
 * database that ran them. For people and reviews; nothing runs it. A test keeps it true.
 *
 *     node scripts/dump-schema.ts
 */
import { writeFile } from 'node:fs/promises';
import { silentLogger } from '../src/base/log.ts';
import type { Database } from '../src/store/database.ts';
import { migrate } from '../src/store/migrate.ts';
import { openPglite } from '../src/store/pglite/open-pglite.ts';
import { sql } from '../src/store/sql.ts';

export const schemaFile = new URL('../src/store/schema.sql', import.meta.url);

const header = '-- The schema after all migrations. Made by `node scripts/dump-schema.ts`; do not edit.\n';

interface Table {
  name: string;
  options: string | null;
  columns: string[];
  constraints: string[];
  indexes: string[];
}

/** The schema as text, the same on every supported server: own catalog queries, nothing of pg_dump. */
export async function dumpSchema(database: Database): Promise<string> {
  const extensions = await database.query<{ name: string }>(sql`
    select extname as name from pg_extension where extname <> 'plpgsql' order by 1`);
  const tables = await readTables(database);
  const parts = [
    ...extensions.map(({ name }) => `create extension ${name};`),
    ...tables.map(tableText),
    ...(await readCode(database)),
  ];
  return `${header}\n${parts.join('\n\n')}\n`;
}

function tableText(table: Table): string {
  const lines = [...table.columns, ...table.constraints].map((line) => `  ${line}`);
  const options = table.options === null ? '' : ` with (${table.options})`;
  const create = `create table ${table.name} (\n${lines.join(',\n')}\n)${options};`;
  return [create, ...table.indexes.map((index) => `${index};`)].join('\n');
}

/** Not-null constraints stand with their columns: PostgreSQL 18 lists them, older servers do not. */
function readTables(database: Database): Promise<Table[]> {
  return database.query<Table>(sql`
    select t.relname as name,
           array_to_string(t.reloptions, ', ') as options,
           array(
             select concat_ws(' ', quote_ident(a.attname), format_type(a.atttypid, a.atttypmod),
                              case when a.attcollation not in (0, y.typcollation)
                                   then 'collate ' || quote_ident(c.collname) end,
                              case when a.attnotnull then 'not null' end,
                              'default ' || pg_get_expr(d.adbin, d.adrelid))
             from pg_attribute a
             join pg_type y on y.oid = a.atttypid
             left join pg_collation c on c.oid = a.attcollation
             left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
             where a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
             order by a.attnum) as columns,
           array(
             select 'constraint ' || quote_ident(k.conname) || ' ' || pg_get_constraintdef(k.oid)
             from pg_constraint k
             where k.conrelid = t.oid and k.contype <> 'n'
             order by array_position(array['p', 'u', 'f', 'c'], k.contype::text), k.conname) as constraints,
           array(
             select pg_get_indexdef(i.indexrelid)
             from pg_index i
             join pg_class x on x.oid = i.indexrelid
             where i.indrelid = t.oid
               and not exists (select from pg_constraint k where k.conindid = i.indexrelid and k.contype in ('p', 'u'))
             order by x.relname) as indexes
    from pg_class t
    where t.relkind = 'r' and t.relnamespace = 'public'::regnamespace
    order by t.relname`);
}

/** Functions and triggers of ours, not those of extensions. */
async function readCode(database: Database): Promise<string[]> {
  const rows = await database.query<{ text: string }>(sql`
    select trim(trailing chr(10) from pg_get_functiondef(p.oid)) || ';' as text, 1 as place, p.proname as name from pg_proc p
    where p.pronamespace = 'public'::regnamespace
      and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
    union all
    select pg_get_triggerdef(t.oid) || ';', 2, t.tgname from pg_trigger t where not t.tgisinternal
    order by place, name`);
  return rows.map(({ text }) => text);
}

async function main(): Promise<void> {
  const database = await openPglite({ dataDir: 'memory', log: silentLogger });
  try {
    await migrate(database, { log: silentLogger });
    await writeFile(schemaFile, await dumpSchema(database));
  } finally {
    await database.close();
  }
}

if (import.meta.main) await main();
