import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Audit } from '../account/audit.ts';

/**
 * Notes requests that change who may do what, that take data out or erase it (routes say so with `audit`), and every
 * request that was denied. Never what was sent.
 */
export function auditRequests(audit: Audit) {
  return async function noteRequest(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { config, url } = request.routeOptions;
    const status = reply.statusCode;
    const isNobody = status === 401 && config.asksWho === true && request.headers.authorization === undefined;
    if (isNobody) return;
    const isDenied = status === 401 || status === 403 || (status === 429 && request.caller === null);
    if (!isDenied && config.audit === undefined) return;
    audit.note({
      action: config.audit ?? 'request',
      outcome: isDenied ? 'denied' : status < 400 ? 'done' : 'failed',
      status,
      keyId: request.caller?.keyId ?? null,
      keyName: request.caller?.name ?? null,
      address: request.ip,
      target: config.audit === undefined ? `${request.method} ${url ?? 'unknown'}` : targetOf(request),
    });
  };
}

function targetOf({ auditTarget, params }: FastifyRequest): string | null {
  const named = Object.values((params ?? {}) as Record<string, string>).join(' ');
  return auditTarget ?? (named === '' ? null : named.slice(0, 200));
}
