import { createHash, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rename } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { systemClock } from '../../src/base/clock.ts';
import { MemorydError } from '../../src/base/errors.ts';
import { silentLogger } from '../../src/base/log.ts';
import type { Database } from '../../src/store/database.ts';
import { migrate, readMigrations } from '../../src/store/migrate.ts';
import { clusterSettings, initSettings } from '../../src/store/pglite/cluster-settings.ts';
import { lockDirectory, type DirectoryLock } from '../../src/store/pglite/directory-lock.ts';
import { dumpPglite, openPglite } from '../../src/store/pglite/open-pglite.ts';
import { openPostgres } from '../../src/store/postgres.ts';
import { createReuse } from './reused-database.ts';

export type Engine = 'pglite' | 'postgres';

const serverUrl = process.env['DATABASE_URL'];
if (serverUrl === undefined && process.env['CI'] !== undefined) {
  throw new Error('CI is set and DATABASE_URL is not: the tests on PostgreSQL would not run.');
}

/** The engines that store tests run on; PostgreSQL only where DATABASE_URL names a server. */
export const engines: readonly Engine[] = serverUrl === undefined ? ['pglite'] : ['pglite', 'postgres'];
/** The engine of suites that need only one: PostgreSQL if there is one, where several sessions race as in production. */
export const mainEngine: Engine = engines.at(-1)!;

export interface TestDatabase {
  database: Database;
  engine: Engine;
  close(): Promise<void>;
}

/** A fresh, migrated, empty database of its own. */
export async function openTestDatabase(engine: Engine = mainEngine): Promise<TestDatabase> {
  const database = await (engine === 'pglite' ? clones : copies).open();
  return { database, engine, close: () => database.close() };
}

/** One that closes as any other does. */
export async function openOwnDatabase(engine?: Engine): Promise<Database> {
  const { database, close } = await openTestDatabase(engine);
  return { ...database, close };
}

/** One without any table, also without `schema_migrations`. */
export async function openEmptyDatabase(engine: Engine): Promise<TestDatabase> {
  const database = await (engine === 'postgres'
    ? openCopy(undefined)
    : openPglite({ dataDir: 'memory', log: silentLogger }));
  return { database, engine, close: () => database.close() };
}

/** Changes with what goes into a template, so that an old one is never used. */
async function templateKey(): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify([clusterSettings, initSettings]));
  for (const migration of await readMigrations()) hash.update(migration.hash);
  return hash.digest('hex').slice(0, 12);
}

// ---- PGlite

let pgliteTemplate: Promise<string> | undefined;

const clones = createReuse(async () => {
  pgliteTemplate ??= makePgliteTemplate();
  return openPglite({ dataDir: 'memory', log: silentLogger, templateFile: await pgliteTemplate });
});

/** Databases that wait to be used again keep a process from ending, unless Vitest ends it. */
export async function closeIdleDatabases(): Promise<void> {
  await clones.close();
  await copies.close();
}

/** A tar of a migrated, empty cluster. */
export async function makePgliteTemplate(): Promise<string> {
  const folder = join(tmpdir(), 'memoryd-test-templates');
  const file = join(folder, `pglite-${await templateKey()}.tar`);
  await mkdir(folder, { recursive: true });
  while (!existsSync(file)) await makeUnlessOthersDo(file);
  return file;
}

/** Test files run in parallel processes: one makes the template, the others wait for it. */
async function makeUnlessOthersDo(file: string): Promise<void> {
  const lock = await lockOrNull(`${file}.lock`);
  if (lock === null) return systemClock.sleep(100);
  try {
    if (existsSync(file)) return;
    await dumpPglite(`${file}.new`, (database) => migrate(database, { log: silentLogger }));
    await rename(`${file}.new`, file);
  } finally {
    await lock.release();
  }
}

async function lockOrNull(path: string): Promise<DirectoryLock | null> {
  try {
    return await lockDirectory(path, systemClock);
  } catch (error) {
    if (MemorydError.is(error) && error.code === 'data_dir_locked') return null;
    throw error;
  }
}

// ---- PostgreSQL

let postgresTemplate: Promise<string> | undefined;

const copies = createReuse(async () => {
  postgresTemplate ??= makePostgresTemplate(server());
  return openCopy(await postgresTemplate);
});

function server(): string {
  if (serverUrl === undefined) throw new Error('DATABASE_URL is not set.');
  return serverUrl;
}

/** Dropped when it is closed, or at the end of the run. */
async function openCopy(template: string | undefined): Promise<Database> {
  const name = `${namesOfRun()}${randomBytes(8).toString('hex')}`;
  const from = template === undefined ? '' : `template ${template}`;
  await onServer(server(), async (client) => {
    await client.query(`create database ${name} ${from}`);
    // Processes die in tests; the machine does not, and only then would a commit that is on its way to the disk be lost.
    await client.query(`alter database ${name} set synchronous_commit = off`);
  });
  const url = urlOf(server(), name);
  const database = await openPostgres({ url, poolSize: 8, log: silentLogger, applicationName: name });
  return {
    ...database,
    async close() {
      await database.close();
      await onServer(server(), (client) => client.query(`drop database ${name} with (force)`));
    },
  };
}

/** How the names of databases begin that the tests of one run make. */
function namesOfRun(): string {
  return `memoryd_test_${(process.env['MEMORYD_TEST_RUN'] ?? '').slice(0, 8)}_`;
}

/** Drops the databases that wait to be used again by processes that have ended. */
export async function dropLeftoverDatabases(): Promise<void> {
  if (serverUrl === undefined) return;
  await onServer(serverUrl, async (client) => {
    const { rows } = await client.query<{ name: string }>(
      'select datname as name from pg_database where starts_with(datname, $1)',
      [namesOfRun()],
    );
    for (const { name } of rows) await client.query(`drop database ${name} with (force)`);
  });
}

/** Made under a lock of the server, because test files run in parallel processes. */
async function makePostgresTemplate(url: string): Promise<string> {
  const name = `memoryd_template_${await templateKey()}`;
  await onServer(url, async (client) => {
    await client.query('select pg_advisory_lock(5470214)');
    const { rows } = await client.query('select 1 from pg_database where datname = $1', [name]);
    if (rows.length > 0) return;
    const making = `${name}_making`;
    await client.query(`drop database if exists ${making} with (force)`);
    await client.query(`create database ${making}`);
    const database = await openPostgres({ url: urlOf(url, making), log: silentLogger });
    await migrate(database, { log: silentLogger });
    await database.close();
    await client.query(`alter database ${making} rename to ${name}`);
  });
  return name;
}

async function onServer<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

function urlOf(url: string, database: string): string {
  const parsed = new URL(url);
  parsed.pathname = `/${database}`;
  return parsed.href;
}
