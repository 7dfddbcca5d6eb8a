import type { FastifyReply, FastifyRequest } from 'fastify';
import { withoutV5Header } from './v5/without-counterpart.ts';

const allowedHeaders = ['authorization', 'content-type', 'idempotency-key', 'x-request-id'];
const exposedHeaders = `x-request-id, retry-after, x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset, ${withoutV5Header}`;

/** Lets web pages of the given origins call the API. Preflight requests carry no key and end here. */
export function allowOrigins(origins: readonly string[]) {
  return async function answerCors(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | void> {
    const { origin } = request.headers;
    if (origin === undefined || !(origins.includes('*') || origins.includes(origin))) return;
    reply.header('access-control-allow-origin', origin).header('vary', 'Origin');
    if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined) {
      reply.header('access-control-expose-headers', exposedHeaders);
      return;
    }
    return reply
      .code(204)
      .header('access-control-allow-methods', 'GET, POST, PUT, PATCH, DELETE')
      .header('access-control-allow-headers', headersAllowedFor(request))
      .header('access-control-max-age', '600')
      .send();
  };
}

/** The official clients add headers that say which runtime they are, and of what they send; they change nothing. */
function headersAllowedFor(request: FastifyRequest): string {
  const asked = String(request.headers['access-control-request-headers'] ?? '').toLowerCase();
  const ofClient = asked.match(/x-(?:stainless|fern)-[a-z-]+|x-content-hash|x-request-integrity|x-sm-source/g) ?? [];
  return [...allowedHeaders, ...ofClient].join(', ');
}
