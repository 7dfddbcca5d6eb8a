import type { FastifyReply, FastifyRequest } from 'fastify';
import { hashSecret, sameHash } from '../account/key-secret.ts';
import { MemorydError } from '../base/errors.ts';

type AnyRequest = FastifyRequest<any, any, any, any, any, any, any>;

const name = 'memoryd_session';
/** 32 bytes as base64url, as all that sign somebody in. */
const pattern = new RegExp(`(?:^|;)\\s*${name}=([\\w-]{43})\\s*(?:;|$)`);

/** What the cookie of the console holds; null where there is none. */
export function sessionSecretOf({ headers }: AnyRequest): string | null {
  return pattern.exec(headers.cookie ?? '')?.[1] ?? null;
}

/** Scripts do not see it, other sites do not send it. */
export function setSessionCookie(
  request: AnyRequest,
  reply: Pick<FastifyReply, 'header'>,
  cookie: { secret: string; seconds: number },
): void {
  const parts = [`${name}=${cookie.secret}`, 'Path=/', `Max-Age=${cookie.seconds}`, 'HttpOnly', 'SameSite=Strict'];
  reply.header('set-cookie', [...parts, ...(isSecure(request) ? ['Secure'] : [])].join('; '));
}

export function removeSessionCookie(request: AnyRequest, reply: Pick<FastifyReply, 'header'>): void {
  setSessionCookie(request, reply, { secret: '', seconds: 0 });
}

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
