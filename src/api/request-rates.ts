import type { FastifyRequest, FastifyReply } from 'fastify';
import type { Caller, RateLimit } from '../account/access.ts';
import type { Clock } from '../base/clock.ts';
import { MemorydError } from '../base/errors.ts';
import type { RateCounter } from '../base/rate-counter.ts';

export interface ContainerRatesOptions {
  clock: Clock;
  counter: Pick<RateCounter, 'count'>;
  /** By container, of those that have a limit of requests per minute. */
  quotas(): Promise<ReadonlyMap<string, number>>;
}

const windowMs = 60_000;
/** How long a changed limit may go unnoticed. */
const rememberedMs = 2_000;

/** Counts the requests of each container that has a limit; over it they are `rate_limited` until the minute ends. */
export function limitContainerRates({ clock, counter, quotas }: ContainerRatesOptions) {
  let known: { untilMs: number; limits: Promise<ReadonlyMap<string, number>> } | null = null;

  function limits(): Promise<ReadonlyMap<string, number>> {
    const nowMs = clock.now().getTime();
    if (!known || known.untilMs <= nowMs) known = { untilMs: nowMs + rememberedMs, limits: quotas() };
    // What failed is asked for again.
    known.limits.catch(() => (known = null));
    return known.limits;
  }

  return async function limitContainerRate(request: FastifyRequest): Promise<void> {
    if (!request.caller) return;
    const limited = await limits();
    if (limited.size === 0) return;
    for (const tag of containersNamed(request, request.caller)) {
      const most = limited.get(tag);
      if (most === undefined) continue;
      const { count, endsAtMs } = await counter.count(`container ${tag}`, windowMs);
      if (count <= most) continue;
      const retryAfterMs = Math.max(1, endsAtMs - clock.now().getTime());
      throw new MemorydError('rate_limited', `Rate limit of container ${tag} exceeded`, { retryAfterMs });
    }
  };
}

/** Containers that the path, query or body names, else those of the key. */
function containersNamed({ params, query, body }: FastifyRequest, caller: Caller): Set<string> {
  const named = [params, query, body].flatMap((part) => tagsIn(part));
  return new Set(named.length > 0 ? named : caller.grants.map((grant) => grant.containerTag));
}

function tagsIn(part: unknown): string[] {
  if (typeof part !== 'object' || part === null) return [];
  const { containerTag, containerTags, namespace } = part as Record<string, unknown>;
  return [containerTag, namespace, containerTags].flat().filter((tag) => typeof tag === 'string');
}

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
