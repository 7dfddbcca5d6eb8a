import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller, RateLimit } from '../account/caller.ts';
import type { Clock } from '../base/clock.ts';
import { MemorydError } from '../base/errors.ts';

interface Window {
  startedAtMs: number;
  count: number;
}

/**
 * Counts requests per key in fixed windows, in this process. Every answer of a limited key says
 * how much is left; over the limit it is `rate_limited` until the window ends.
 */
export function limitRates(clock: Clock, fullKeyLimit: RateLimit) {
  const windows = new Map<string, Window>();

  function countIn(caller: Caller, limit: RateLimit, nowMs: number): Window {
    const current = windows.get(caller.keyId);
    if (current && nowMs - current.startedAtMs < limit.windowMs) {
      current.count += 1;
      return current;
    }
    const opened = { startedAtMs: nowMs, count: 1 };
    windows.set(caller.keyId, opened);
    return opened;
  }

  return async function limitRate(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { caller } = request;
    const limit = caller?.rateLimit ?? fullKeyLimit;
    if (!caller || limit.max === 0) return;
    const nowMs = clock.now().getTime();
    const window = countIn(caller, limit, nowMs);
    const endsAtMs = window.startedAtMs + limit.windowMs;
    reply.headers({
      'x-ratelimit-limit': limit.max,
      'x-ratelimit-remaining': Math.max(0, limit.max - window.count),
      'x-ratelimit-reset': Math.ceil(endsAtMs / 1000),
    });
    if (window.count > limit.max) {
      throw new MemorydError('rate_limited', 'Rate limit exceeded', { retryAfterMs: Math.max(1, endsAtMs - nowMs) });
    }
  };
}
