import type { FastifyReply, FastifyRequest } from 'fastify';
import { MemorydError } from '../base/errors.ts';
import { createSessionCookie, refuseOtherOrigins, requireCsrf } from './console-cookie.ts';
import type { RouteContext } from './context.ts';

/**
 * Section 2.1 of the API: only `Authorization: Bearer` opens the service, and the cookie of the console to its own
 * page. Unknown routes ask for a key too, so that nobody learns from outside which routes exist.
 */
export function authenticateWith(context: Pick<RouteContext, 'services' | 'config' | 'wrongKeys'>) {
  const { services, config, wrongKeys } = context;
  const { keys, consoleSessions } = services;
  const sessionCookie = createSessionCookie(config.organization);
  const readsKeyHeader = config.compat?.includes('api-key-header') ?? false;

  async function authenticateSession(request: FastifyRequest, cookie: string): Promise<void> {
    refuseOtherOrigins(request, config.publicUrl);
    const session = await consoleSessions.find(cookie);
    if (!session) throw new MemorydError('unauthorized', 'The session has ended');
    requireCsrf(request, session.csrf);
    request.consoleSession = session;
    request.caller = session.caller;
  }

  return async function authenticate(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    if (request.routeOptions.config.public) return;
    const secret = bearerOf(request.headers.authorization) ?? (readsKeyHeader ? keyHeaderOf(request) : null);
    const cookie = secret === null ? sessionCookie.read(request) : null;
    if (cookie !== null) return authenticateSession(request, cookie);
    request.caller = secret === null ? null : await keys.authenticate(secret);
    if (request.caller) return;
    reply.header('www-authenticate', 'Bearer');
    if (secret === null) throw new MemorydError('unauthorized', 'Missing API key');
    request.isWrongKey = true;
    throw wrongKey(wrongKeys.note(request.ip), 'Invalid API key');
  };
}

/** The answer to a wrong key, whose sender has to wait this long. */
export function wrongKey(retryAfterMs: number, message: string): MemorydError {
  if (retryAfterMs === 0) return new MemorydError('unauthorized', message);
  return new MemorydError('rate_limited', 'Too many wrong keys', { retryAfterMs });
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
