import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Keys } from '../account/keys.ts';
import type { Clock } from '../base/clock.ts';
import { MemorydError } from '../base/errors.ts';
import type { ApiConfig } from './services.ts';
import { createWrongKeys } from './wrong-keys.ts';

/**
 * Section 2.1: only `Authorization: Bearer` opens the service. Unknown routes ask for a key too,
 * so that nobody learns from outside which routes exist.
 */
export function authenticateWith(keys: Keys, config: ApiConfig, clock: Clock) {
  const wrongKeys = createWrongKeys(clock);
  const readsKeyHeader = config.compat?.includes('api-key-header') ?? false;

  return async function authenticate(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    if (request.routeOptions.config.public) return;
    const secret = bearerOf(request.headers.authorization) ?? (readsKeyHeader ? keyHeaderOf(request) : null);
    request.caller = secret === null ? null : await keys.authenticate(secret);
    if (request.caller) return;
    reply.header('www-authenticate', 'Bearer');
    if (secret === null) throw new MemorydError('unauthorized', 'Missing API key');
    const retryAfterMs = wrongKeys.note(request.ip);
    if (retryAfterMs === 0) throw new MemorydError('unauthorized', 'Invalid API key');
    throw new MemorydError('rate_limited', 'Too many wrong keys', { retryAfterMs });
  };
}

/** The key after the scheme. Keys may contain spaces, so everything after the first one counts. */
function bearerOf(header: string | undefined): string | null {
  const secret = /^bearer (.*)$/is.exec(header ?? '')?.[1]?.trim();
  return secret ? secret : null;
}

function keyHeaderOf(request: FastifyRequest): string | null {
  const header = request.headers['x-api-key'];
  return typeof header === 'string' && header !== '' ? header : null;
}
