import { createHash, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rename } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { silentLogger } from '../../src/base/log.ts';
import type { Database } from '../../src/store/database.ts';
import { migrate, readMigrations } from '../../src/store/migrate.ts';
import { dumpPglite, openPglite } from '../../src/store/pglite/open-pglite.ts';
import { openPostgres } from '../../src/store/postgres.ts';

export type Engine = 'pglite' | 'postgres';

const serverUrl = process.env['DATABASE_URL'];
if (serverUrl === undefined && process.env['CI'] !== undefined) {
  throw new Error('CI is set and DATABASE_URL is not: the tests on PostgreSQL would not run.');
}

/** The engines that store tests run on; PostgreSQL only where DATABASE_URL names a server. */
export const engines: readonly Engine[] = serverUrl === undefined ? ['pglite'] : ['pglite', 'postgres'];

export interface TestDatabase {
  database: Database;
  engine: Engine;
  close(): Promise<void>;
}

/** A fresh, migrated, empty database of its own. */
export function openTestDatabase(engine: Engine): Promise<TestDatabase> {
  return engine === 'pglite' ? openClone() : openCopy();
}

/** Changes when the migrations do, so that an old template is never used. */
async function templateKey(): Promise<string> {
  const hash = createHash('sha256');
  for (const migration of await readMigrations()) hash.update(migration.hash);
  return hash.digest('hex').slice(0, 12);
}

// ---- PGlite

let pgliteTemplate: Promise<string> | undefined;

async function openClone(): Promise<TestDatabase> {
  pgliteTemplate ??= makePgliteTemplate();
  const database = await openPglite({ dataDir: 'memory', log: silentLogger, templateFile: await pgliteTemplate });
  return { database, engine: 'pglite', close: () => database.close() };
}

async function makePgliteTemplate(): Promise<string> {
  const file = join(tmpdir(), 'memoryd-test-templates', `pglite-${await templateKey()}.tar`);
  if (!existsSync(file)) {
    await mkdir(dirname(file), { recursive: true });
    // Another process may make the same one: each writes its own file, the last rename wins.
    const own = `${file}.${randomBytes(4).toString('hex')}`;
    await dumpPglite(own, (database) => migrate(database, { log: silentLogger }));
    await rename(own, file);
  }
  return file;
}

// ---- PostgreSQL

let postgresTemplate: Promise<string> | undefined;

async function openCopy(): Promise<TestDatabase> {
  if (serverUrl === undefined) throw new Error('DATABASE_URL is not set.');
  postgresTemplate ??= makePostgresTemplate(serverUrl);
  const template = await postgresTemplate;
  const name = `memoryd_test_${randomBytes(8).toString('hex')}`;
  await onServer(serverUrl, (client) => client.query(`create database ${name} template ${template}`));
  const database = await openPostgres({ url: urlOf(serverUrl, name), poolSize: 8, log: silentLogger });
  return {
    database,
    engine: 'postgres',
    async close() {
      await database.close();
      await onServer(serverUrl, (client) => client.query(`drop database ${name} with (force)`));
    },
  };
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
