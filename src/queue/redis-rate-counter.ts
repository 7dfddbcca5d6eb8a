import { Redis } from 'ioredis';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { createRateCounter, type RateCounter } from '../base/rate-counter.ts';

export interface RedisRateCounterOptions {
  url: string;
  /** Put before each name. */
  prefix: string;
  clock: Clock;
  log: Logger;
  /** No request waits longer for its number. Default 250. */
  patienceMs?: number;
}

/** One step in Redis, so that no process counts between reading and writing. */
const countOne = `
local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return { count, redis.call('PTTL', KEYS[1]) }`;

/** Counts together with all other processes on this Redis; while that does not answer, each counts for itself. */
export function createRedisRateCounter(options: RedisRateCounterOptions): RateCounter {
  const { url, prefix, clock, log, patienceMs = 250 } = options;
  const own = createRateCounter(clock);
  const redis = new Redis(url, {
    lazyConnect: true,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: patienceMs,
  });
  let isOut = false;
  redis.on('error', () => {});
  redis.connect().catch(() => {});

  return {
    async count(name, windowMs) {
      try {
        const [count, leftMs] = (await redis.eval(countOne, 1, `${prefix}:rate:${name}`, windowMs)) as [number, number];
        isOut = false;
        return { count, endsAtMs: clock.now().getTime() + Math.max(leftMs, 0) };
      } catch {
        if (!isOut) log.warn('Redis does not count requests, each process counts for itself');
        isOut = true;
        return own.count(name, windowMs);
      }
    },
    async close() {
      redis.disconnect();
    },
  };
}
