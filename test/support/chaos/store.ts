import { rm } from 'node:fs/promises';
import { chmodSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPrivateRedis, type PrivateRedis } from '../redis-server.ts';
import { startCuttingProxy, type CuttingProxy } from './cutting-proxy.ts';
import { postgresPrograms, startOwnPostgres, type OwnPostgres } from './own-postgres.ts';
import type { Store } from './program.ts';
import { mountSmallDisk, type SmallDisk } from './small-disk.ts';

/** Where the daemons of an environment keep what they know, with what can happen to that. */
export interface ChaosStore {
  kind: Store;
  env: Record<string, string>;
  /** On it lies what the daemons write; undefined where no file system may be mounted. */
  disk: SmallDisk | undefined;
  /** For the data directories of daemons. */
  folder: string;
  servers?: { postgres: OwnPostgres; redis: PrivateRedis; proxies: Record<'postgres' | 'redis', CuttingProxy> };
  close(): Promise<void>;
}

const megabytes = { embedded: 320, servers: 480 };

export async function openStore(kind: Store): Promise<ChaosStore> {
  const folder = mkdtempSync(join(tmpdir(), 'memoryd-chaos-'));
  // PostgreSQL runs as another user than root.
  chmodSync(folder, 0o755);
  const disk = mountSmallDisk(join(folder, 'disk'), megabytes[kind]);
  const onDisk = disk?.folder ?? folder;
  async function close(): Promise<void> {
    disk?.close();
    await rm(folder, { recursive: true, force: true });
  }
  if (kind === 'embedded') return { kind, env: {}, disk, folder: onDisk, close };
  if (postgresPrograms === undefined) throw new Error('PG_BIN does not name the programs of PostgreSQL.');
  const postgres = await startOwnPostgres(postgresPrograms, join(onDisk, 'postgres'));
  const redis = await startPrivateRedis({ appendOnly: true });
  const proxies = {
    postgres: await startCuttingProxy(postgres.port),
    redis: await startCuttingProxy(Number(new URL(redis.url).port)),
  };
  return {
    kind,
    env: {
      MEMORYD_DATABASE_URL: `postgresql://postgres@127.0.0.1:${proxies.postgres.port}/postgres`,
      MEMORYD_REDIS_URL: `redis://127.0.0.1:${proxies.redis.port}`,
    },
    disk,
    folder,
    servers: { postgres, redis, proxies },
    async close() {
      await Promise.all([proxies.postgres.close(), proxies.redis.close()]);
      await postgres.kill();
      await redis[Symbol.asyncDispose]();
      await close();
    },
  };
}
