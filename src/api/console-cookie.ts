import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { hashSecret, sameHash } from '../account/keys.ts';
import { MemorydError } from '../base/errors.ts';

type AnyRequest = FastifyRequest<any, any, any, any, any, any, any>;

type AnyReply = Pick<FastifyReply, 'header'>;

export interface SessionCookie {
  /** The content of the console's cookie; null without one. */
  read(request: AnyRequest): string | null;
  /** Scripts do not see it, other sites do not send it. */
  set(request: AnyRequest, reply: AnyReply, cookie: { secret: string; seconds: number }): void;
  remove(request: AnyRequest, reply: AnyReply): void;
}

/**
 * Browsers send a cookie to every port of a host, so each daemon has a name of its own for it: made from what its
 * processes share, the organization of its database.
 */
export function createSessionCookie(organization: { id: string }): SessionCookie {
  const ownName = `memoryd_session_${createHash('sha256').update(organization.id).digest('hex').slice(0, 8)}`;
  // With this prefix browsers take it from https only, and from no other host of the domain.
  const nameFor = (request: AnyRequest) => `${isSecure(request) ? '__Host-' : ''}${ownName}`;
  const set: SessionCookie['set'] = (request, reply, { secret, seconds }) => {
    const parts = [`${nameFor(request)}=${secret}`, 'Path=/', `Max-Age=${seconds}`, 'HttpOnly', 'SameSite=Strict'];
    reply.header('set-cookie', [...parts, ...(isSecure(request) ? ['Secure'] : [])].join('; '));
  };
  return {
    read(request) {
      const begin = `${nameFor(request)}=`;
      const cookies = String(request.headers.cookie ?? '').split(/;\s*/);
      const secret = cookies.find((each) => each.startsWith(begin))?.slice(begin.length) ?? '';
      return secretPattern.test(secret) ? secret : null;
    },
    set,
    remove: (request, reply) => set(request, reply, { secret: '', seconds: 0 }),
  };
}

/** 32 bytes as base64url, as all that sign somebody in. */
const secretPattern = /^[\w-]{43}$/;

/** A proxy that speaks https for the daemon says so; whoever lies here harms only itself. */
export function isSecure({ protocol, headers }: AnyRequest): boolean {
  return protocol === 'https' || headers['x-forwarded-proto'] === 'https';
}

/**
 * Throws `forbidden` for a request that a page of another origin has sent. `SameSite` is not enough: it lets pages at
 * other ports of this machine pass.
 */
export function refuseOtherOrigins({ headers }: AnyRequest, publicUrl: string | undefined): void {
  const { origin, host } = headers;
  const site = headers['sec-fetch-site'];
  const own = [host?.toLowerCase(), ...(publicUrl === undefined ? [] : [new URL(publicUrl).host])];
  const isOwnSite = site === undefined || site === 'same-origin' || site === 'none';
  if (isOwnSite && (origin === undefined || own.includes(URL.parse(origin)?.host))) return;
  throw new MemorydError('forbidden', 'The console’s session counts for its own page only');
}

/** Throws `forbidden` for a change without the token that only the console's own page knows. */
export function requireCsrf({ method, headers }: AnyRequest, csrf: string): void {
  if (method === 'GET' || method === 'HEAD') return;
  const sent = headers['x-csrf-token'];
  if (typeof sent === 'string' && sameHash(hashSecret(sent), hashSecret(csrf))) return;
  throw new MemorydError('forbidden', 'The CSRF token is missing or wrong', {
    details: 'Send the header x-csrf-token with the csrf that GET /console/session answers',
  });
}
