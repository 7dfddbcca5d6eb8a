import { Redis } from 'ioredis';
import { MemorydError } from '../base/errors.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { createRateCounter, type RateCounter } from '../base/rate-counter.ts';

/** How long a call may wait for Redis before it is given up. */
const patienceMs = 1_800;
const retryPauseMs = 50;
const connectTimeoutMs = 5_000;
const longestReconnectPauseMs = 1_000;

/**
 * The connections of one queue to its Redis. `commands` fails fast, because callers wait for it;
 * `workers` waits for Redis to come back, because nobody does.
 */
export interface RedisLink {
  readonly commands: Redis;
  readonly workers: Redis;
  isUp(): boolean;
  /** Runs calls on `commands`; throws `queue_unreachable` when they fail or take over 1.8 seconds. */
  call<T>(run: () => Promise<T>): Promise<T>;
  close(): void;
}

/** Connects. Throws `queue_unreachable`, or `config_invalid` when the URL is none. Never shows the URL's password. */
export async function openRedisLink(options: { url: string; clock: Clock; log: Logger }): Promise<RedisLink> {
  const { clock, log } = options;
  const { url, host } = parseUrl(options.url);
  const commands = connection(url, commandOptions);
  const unreachable = (cause: unknown) =>
    new MemorydError('queue_unreachable', `Redis at ${host} does not answer: ${reasonOf(cause)}.`, {
      cause: new Error(reasonOf(cause)),
    });

  try {
    await within(connectTimeoutMs, clock, () => commands.connect());
  } catch (error) {
    commands.disconnect();
    throw unreachable(error);
  }
  reportOutages(commands, host, log);
  const workers = connection(url, workerOptions);

  return {
    commands,
    workers,
    isUp: () => commands.status === 'ready',
    async call(run) {
      try {
        return await within(patienceMs, clock, (signal) => untilAnswered(commands, clock, signal, run));
      } catch (error) {
        throw unreachable(error);
      }
    },
    close() {
      commands.disconnect();
      workers.disconnect();
    },
  };
}

function connection(url: string, options: typeof commandOptions | typeof workerOptions): Redis {
  const redis = new Redis(url, { ...sharedOptions, ...options });
  redis.on('error', ignoreConnectionError);
  return redis;
}

const sharedOptions = {
  connectTimeout: connectTimeoutMs,
  retryStrategy: (times: number) => Math.min(25 * 2 ** times, longestReconnectPauseMs),
};

const commandOptions = {
  lazyConnect: true,
  // Commands must not pile up in memory while Redis is away.
  enableOfflineQueue: false,
  maxRetriesPerRequest: 1,
  // A connection that is open but dead (a stopped server, a cut network) is dropped and made again.
  socketTimeout: patienceMs,
};

const workerOptions = {
  // Not lazy: BullMQ's copies of a lazy connection fail for ever when their first attempt to connect does.
  lazyConnect: false,
  maxRetriesPerRequest: null,
  // Longer than the 10 seconds that a waiting worker may block.
  socketTimeout: 20_000,
};

function parseUrl(text: string): { url: string; host: string } {
  const parsed = URL.parse(text);
  if (!parsed || !['redis:', 'rediss:'].includes(parsed.protocol)) {
    throw new MemorydError(
      'config_invalid',
      'MEMORYD_REDIS_URL must look like redis://host:6379 or rediss://host:6379.',
    );
  }
  return { url: text, host: parsed.host };
}

/** Runs calls again, which must be safe, as long as it is the connection that fails and the signal has not aborted. */
async function untilAnswered<T>(redis: Redis, clock: Clock, signal: AbortSignal, run: () => Promise<T>): Promise<T> {
  for (;;) {
    await untilReady(redis, signal);
    try {
      return await run();
    } catch (error) {
      const refused = error instanceof Error && error.name === 'ReplyError';
      if (refused || signal.aborted) throw error;
      await clock.sleep(retryPauseMs, signal);
    }
  }
}

async function untilReady(redis: Redis, signal: AbortSignal): Promise<void> {
  if (redis.status === 'ready') return;
  await new Promise<void>((resolve) => {
    const done = () => {
      redis.off('ready', done);
      signal.removeEventListener('abort', done);
      resolve();
    };
    redis.once('ready', done);
    signal.addEventListener('abort', done);
  });
}

/** The result of `run`, or an error after `limitMs`; then the signal that `run` got aborts. */
async function within<T>(limitMs: number, clock: Clock, run: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const over = new AbortController();
  const limit = clock.sleep(limitMs, over.signal).then(() => {
    throw new Error(`no answer within ${limitMs} ms`);
  });
  try {
    return await Promise.race([run(over.signal), limit]);
  } finally {
    limit.catch(() => {});
    over.abort();
  }
}

function reportOutages(redis: Redis, host: string, log: Logger): void {
  let lost = false;
  redis.on('close', () => {
    if (!lost && redis.status !== 'end') log.warn({ host }, 'queue connection lost, trying to reconnect');
    lost = true;
  });
  redis.on('ready', () => {
    if (lost) log.info({ host }, 'queue connection restored');
    lost = false;
  });
}

/** The reason without what an error of ioredis carries beside it: the command with its arguments, passwords included. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown reason';
  return error.message.replace(/\.$/, '') || ('code' in error ? String(error.code) : error.name);
}

/** `reportOutages` says once what this event says at each attempt to reconnect. */
function ignoreConnectionError(): void {}

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
