import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { MemorydError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { Database, Transaction } from './database.ts';
import { isStatementError } from './database-errors.ts';
import { rawSql, sql } from './sql.ts';

/** One file of the migrations folder. */
export interface Migration {
  number: number;
  /** The file's name without `.sql`. */
  name: string;
  /** SHA-256 of the text, as hex. */
  hash: string;
  /** Older code cannot work with the schema it makes. A comment line `-- breaking` at the file's top says so. */
  breaking: boolean;
  text: string;
}

interface Applied {
  number: number;
  name: string;
  hash: string;
  breaking: boolean;
}

const folder = new URL('./migrations/', import.meta.url);
const fileName = /^(\d{4})-[a-z0-9-]+\.sql$/;
/** Held by one process at a time while it migrates a database; any constant of ours serves. */
const advisoryLock = 7_301_846_220_514;

/**
 * Brings the schema up to this code: every migration the database does not have, in order, each
 * in a transaction of its own. Safe when several processes start at once. Returns the names of
 * those it applied. Throws `database_newer` when the database has a breaking migration that this
 * code does not know, or one with another text than this code's.
 */
export async function migrate(database: Database, options: { log: Logger }): Promise<string[]> {
  return applyMigrations(database, await readMigrations(), options);
}

/** `migrate` with given migrations. */
export async function applyMigrations(
  database: Database,
  migrations: readonly Migration[],
  options: { log: Logger },
): Promise<string[]> {
  await database.transaction(makeTable);
  const before = await database.query<Applied>(
    sql`select number, name, hash, breaking from schema_migrations order by number`,
  );
  checkKnown(before, migrations);
  // Each one counts where there is something to lose; a new database has them all.
  const level = before.length === 0 ? 'debug' : 'info';
  const names: string[] = [];
  for (const migration of migrations) {
    if (!(await database.transaction((tx) => apply(tx, migration)))) continue;
    options.log[level]({ migration: migration.name }, 'migration applied');
    names.push(migration.name);
  }
  if (before.length === 0 && names.length > 0) options.log.info({ migrations: names.length }, 'database prepared');
  return names;
}

/** The migrations that this code brings, in the order of their numbers, of which some may be left out. */
export async function readMigrations(from: URL = folder): Promise<Migration[]> {
  const files = (await readdir(from)).filter((name) => name.endsWith('.sql')).toSorted();
  const migrations = await Promise.all(files.map((name) => readMigration(from, name)));
  for (const [index, { name, number }] of migrations.entries()) {
    const before = migrations[index - 1];
    if (before?.number === number) {
      throw new MemorydError('internal', `The migrations ${before.name} and ${name} have the same number.`);
    }
  }
  return migrations;
}

async function readMigration(from: URL, name: string): Promise<Migration> {
  const number = fileName.exec(name)?.[1];
  if (number === undefined)
    throw new MemorydError('internal', `Migration file ${name} is not named 0000-some-words.sql.`);
  const text = await readFile(new URL(name, from), 'utf8');
  return {
    number: Number(number),
    name: name.slice(0, -'.sql'.length),
    hash: createHash('sha256').update(text).digest('hex'),
    breaking: /^-- breaking\s*$/m.test(headerOf(text)),
    text,
  };
}

/** The comment lines before the first statement. */
function headerOf(text: string): string {
  return /^(--.*\n)*/.exec(text)![0];
}

async function makeTable(tx: Transaction): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(${advisoryLock})`);
  // The only time that is the database's own: it is for people, nothing depends on it.
  await tx.execute(sql`
    create table if not exists schema_migrations (
      number integer primary key,
      name text not null,
      hash text not null,
      breaking boolean not null,
      applied_at timestamptz not null default now()
    )`);
}

function checkKnown(applied: readonly Applied[], migrations: readonly Migration[]): void {
  for (const row of applied) {
    const known = migrations.find((migration) => migration.number === row.number);
    if (known === undefined && row.breaking) {
      throw new MemorydError(
        'database_newer',
        `The database has migration ${row.name}, which this memoryd cannot work with.`,
      );
    }
    if (known !== undefined && known.hash !== row.hash) {
      throw new MemorydError(
        'database_newer',
        `The database has migration ${row.name} with another text than this memoryd (its ${known.name}); another build made it.`,
      );
    }
  }
}

/** False when it is applied already, perhaps by another process a moment ago. */
async function apply(tx: Transaction, migration: Migration): Promise<boolean> {
  await tx.execute(sql`select pg_advisory_xact_lock(${advisoryLock})`);
  // Before the text runs, so that a migration that ends the transaction early cannot pass unrecorded.
  const inserted = await tx.execute(sql`
    insert into schema_migrations (number, name, hash, breaking)
    values (${migration.number}, ${migration.name}, ${migration.hash}, ${migration.breaking})
    on conflict (number) do nothing`);
  if (inserted === 0) return false;
  try {
    await tx.execute(rawSql(migration.text));
  } catch (error) {
    throw explainRefusal(migration, error);
  }
  return true;
}

const insufficientPrivilege = '42501';

function explainRefusal(migration: Migration, error: unknown): unknown {
  if (!isStatementError(error) || error.code !== insufficientPrivilege) return error;
  return new MemorydError(
    'database_unsupported',
    `The database user may not do what migration ${migration.name} needs: ${error.message}. ` +
      'Make it the owner of the database, and let a superuser run `create extension vector` there.',
    { cause: error },
  );
}
