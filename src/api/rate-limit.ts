import type { FastifyReply, FastifyRequest } from 'fastify';
import type { RateLimit } from '../account/caller.ts';
import type { Clock } from '../base/clock.ts';
import { MemorydError } from '../base/errors.ts';
import type { RateCounter } from '../base/rate-counter.ts';

/**
 * Counts requests per key in fixed windows. Every answer of a limited key says how much is left; over
 * the limit it is `rate_limited` until the window ends.
 */
export function limitRates(clock: Clock, counter: Pick<RateCounter, 'count'>, fullKeyLimit: RateLimit) {
  return async function limitRate(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { caller } = request;
    const limit = caller?.rateLimit ?? fullKeyLimit;
    if (!caller || limit.max === 0) return;
    const { count, endsAtMs } = await counter.count(caller.keyId, limit.windowMs);
    reply.headers({
      'x-ratelimit-limit': limit.max,
      'x-ratelimit-remaining': Math.max(0, limit.max - count),
      'x-ratelimit-reset': Math.ceil(endsAtMs / 1000),
    });
    if (count > limit.max) {
      const leftMs = endsAtMs - clock.now().getTime();
      throw new MemorydError('rate_limited', 'Rate limit exceeded', { retryAfterMs: Math.max(1, leftMs) });
    }
  };
}
