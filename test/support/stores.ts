import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { sized } from './length.ts';

export interface OpenedStore {
  /** What the daemon is started with. */
  env: Record<string, string>;
  close(): Promise<void>;
}

export interface StoreKind {
  name: string;
  open(): Promise<OpenedStore>;
}

const databaseUrl = process.env['DATABASE_URL'];
const redisUrl = process.env['REDIS_URL'];
if (process.env['CI'] !== undefined && (databaseUrl === undefined || redisUrl === undefined)) {
  throw new Error('CI is set and DATABASE_URL or REDIS_URL is not: the tests on PostgreSQL and Redis would not run.');
}

const embedded: StoreKind = { name: 'the embedded store', open: async () => ({ env: {}, close: async () => {} }) };

function onServers(name: string, redis: boolean): StoreKind {
  return {
    name,
    async open() {
      const database = `memoryd_e2e_${randomBytes(8).toString('hex')}`;
      await onServer(`create database ${database}`);
      // Processes die in tests; the machine does not, and only then would a commit that is on its way to the disk be lost.
      await onServer(`alter database ${database} set synchronous_commit = off`);
      const url = new URL(databaseUrl!);
      url.pathname = `/${database}`;
      return {
        env: {
          MEMORYD_DATABASE_URL: url.href,
          // A Redis database of its own would collide with parallel runs; the prefix is the database's name.
          ...(redis ? { MEMORYD_REDIS_URL: redisUrl!, MEMORYD_REDIS_PREFIX: database } : {}),
        },
        close: () => onServer(`drop database ${database} with (force)`),
      };
    },
  };
}

async function onServer(text: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
}

/** The embedded store always; servers where the environment names them. */
export const stores: readonly StoreKind[] = [
  embedded,
  ...(databaseUrl === undefined ? [] : [onServers('PostgreSQL alone', false)]),
  ...(databaseUrl === undefined || redisUrl === undefined ? [] : [onServers('PostgreSQL and Redis', true)]),
];

/**
 * In short the two that have nothing in common, for what does not depend on how a database and a queue go together:
 * PostgreSQL with the queue of the embedded store is killed and watched in suites of its own.
 */
export const unlikeStores: readonly StoreKind[] = sized(
  stores.filter((_, index) => index === 0 || index === stores.length - 1),
  stores,
);
