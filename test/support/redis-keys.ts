import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';

/** A first part for the keys of one test, on a Redis that others use too. */
export function uniquePrefix(): string {
  return `test-${randomUUID()}`;
}

export async function removeKeys(url: string, prefix: string): Promise<void> {
  const redis = new Redis(url);
  const keys = await redis.keys(`${prefix}:*`);
  if (keys.length > 0) await redis.del(keys);
  redis.disconnect();
}
