import { isIP } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { MemorydError } from '../base/errors.ts';

export interface HostOptions {
  /** Names beside those that are always allowed; `*.example.com` allows every name below it. */
  allowedHosts?: readonly string[] | undefined;
  publicUrl?: string | undefined;
}

/**
 * A page on the internet can make its own name lead to this machine (DNS rebinding) and then talk to the daemon as if
 * it were part of that page. It cannot choose the `Host` header, so a request must name an address, a name without
 * dots (nobody outside can register one), or a name that the operator has given.
 */
export function checkHosts({ allowedHosts = [], publicUrl }: HostOptions) {
  const given = [...allowedHosts, ...(publicUrl === undefined ? [] : [new URL(publicUrl).hostname])];
  const names = given.map((name) => name.toLowerCase().replace(/^\[|\]$/g, ''));

  return async function checkHost(request: FastifyRequest): Promise<void> {
    const host = hostOf(request.headers.host ?? request.headers[':authority']);
    if (host !== null && (isSafe(host) || names.some((name) => covers(name, host)))) return;
    throw new MemorydError('forbidden', 'This address may not be used to reach memoryd', {
      details: 'Set publicUrl to the address that people use, or name the host in allowedHosts',
    });
  };
}

/** The name without port and brackets; null when there is none. */
function hostOf(header: unknown): string | null {
  if (typeof header !== 'string') return null;
  const found = /^(?:\[(?<v6>[0-9a-f:.]+)\]|(?<name>[^:[\]/@?#\s]+))(?::\d{1,5})?$/i.exec(header)?.groups;
  return found ? (found['v6'] ?? found['name']!).toLowerCase().replace(/\.$/, '') : null;
}

function isSafe(host: string): boolean {
  return isIP(host) !== 0 || !host.includes('.') || host.endsWith('.localhost');
}

function covers(name: string, host: string): boolean {
  return name === host || (name.startsWith('*.') && host.endsWith(name.slice(1)));
}

/** Headers of every answer: none is to be guessed at, framed, or told to other sites by a link. */
const headers: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
};

export async function setSecurityHeaders(_request: FastifyRequest, reply: FastifyReply): Promise<void> {
  void reply.headers(headers);
}

/**
 * Throws `forbidden` for a page of another origin (MCP, transports, security warning: servers must validate `Origin`).
 * Programs send none.
 */
export function requireOwnOrigin(
  { headers: sent }: FastifyRequest<any, any, any, any, any, any, any>,
  allowed: readonly string[] = [],
): void {
  const { origin, host } = sent;
  if (origin === undefined || allowed.includes('*') || allowed.includes(origin)) return;
  if (URL.parse(origin)?.host === host?.toLowerCase()) return;
  throw new MemorydError('forbidden', 'This origin may not use MCP', { details: 'Name it in corsOrigins' });
}
