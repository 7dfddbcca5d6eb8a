import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { silentLogger } from '../src/base/log.ts';
import type { Database } from '../src/store/database.ts';
import { migrate } from '../src/store/migrate.ts';
import { openPglite } from '../src/store/pglite/open-pglite.ts';
import { openPostgres } from '../src/store/postgres.ts';

export type Engine = 'pglite' | 'postgres';

/** PGlite always; PostgreSQL where DATABASE_URL names a server. */
export const engines: readonly Engine[] = process.env['DATABASE_URL'] ? ['pglite', 'postgres'] : ['pglite'];

/** Where a store lies: in a new data directory, or in a new database of the server. */
export interface BenchStore {
  dataDir: string;
  /** Null for the embedded store. */
  databaseUrl: string | null;
  /** The database, migrated. */
  open(): Promise<Database>;
  remove(): Promise<void>;
}

export async function makeBenchStore(engine: Engine): Promise<BenchStore> {
  const dataDir = await mkdtemp(join(tmpdir(), 'memoryd-bench-'));
  const removeFolder = () => rm(dataDir, { recursive: true, force: true });
  if (engine === 'pglite') {
    const open = async () => migrated(await openPglite({ dataDir, log: silentLogger }));
    return { dataDir, databaseUrl: null, open, remove: removeFolder };
  }
  const name = `memoryd_bench_${randomBytes(6).toString('hex')}`;
  await onServer(`create database ${name}`);
  const url = new URL(process.env['DATABASE_URL']!);
  url.pathname = `/${name}`;
  return {
    dataDir,
    databaseUrl: url.href,
    open: async () => migrated(await openPostgres({ url: url.href, log: silentLogger })),
    async remove() {
      await onServer(`drop database ${name} with (force)`);
      await removeFolder();
    },
  };
}

async function migrated(database: Database): Promise<Database> {
  await migrate(database, { log: silentLogger });
  return database;
}

async function onServer(text: string): Promise<void> {
  const client = new pg.Client({ connectionString: process.env['DATABASE_URL']! });
  await client.connect();
  await client.query(text);
  await client.end();
}

/** A fresh migrated database on disk, removed by `close`. */
export async function openBenchDatabase(engine: Engine): Promise<{ database: Database; close(): Promise<void> }> {
  const store = await makeBenchStore(engine);
  const database = await store.open();
  return {
    database,
    async close() {
      await database.close();
      await store.remove();
    },
  };
}
