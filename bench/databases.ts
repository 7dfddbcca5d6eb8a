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

/** A fresh migrated database on disk, removed by `close`. */
export async function openBenchDatabase(engine: Engine): Promise<{ database: Database; close(): Promise<void> }> {
  if (engine === 'pglite') {
    const dataDir = await mkdtemp(join(tmpdir(), 'memoryd-bench-'));
    const database = await openPglite({ dataDir, log: silentLogger });
    await migrate(database, { log: silentLogger });
    return {
      database,
      async close() {
        await database.close();
        await rm(dataDir, { recursive: true, force: true });
      },
    };
  }
  const server = process.env['DATABASE_URL']!;
  const name = `memoryd_bench_${randomBytes(6).toString('hex')}`;
  const onServer = async (text: string) => {
    const client = new pg.Client({ connectionString: server });
    await client.connect();
    await client.query(text);
    await client.end();
  };
  await onServer(`create database ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  const database = await openPostgres({ url: url.href, log: silentLogger });
  await migrate(database, { log: silentLogger });
  return {
    database,
    async close() {
      await database.close();
      await onServer(`drop database ${name} with (force)`);
    },
  };
}
