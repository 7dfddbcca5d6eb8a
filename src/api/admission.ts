import type { FastifyReply, FastifyRequest } from 'fastify';
import { MemorydError } from '../base/errors.ts';
import { createSessionCookie, refuseOtherOrigins, requireCsrf } from './console-cookie.ts';
import type { ApiConfig, ApiServices } from './services.ts';
import { isIPv6, isIP } from 'node:net';
import { forgetOldest } from '../base/collections.ts';
import type { Clock } from '../base/clock.ts';
import type { Caller, RateLimit } from '../account/access.ts';
import type { RateCounter } from '../base/rate-counter.ts';

/**
 * Section 2.1 of the API: only `Authorization: Bearer` opens the service, and the cookie of the console to its own
 * page. Unknown routes ask for a key too, so that nobody learns from outside which routes exist.
 */
export function authenticateWith(context: {
  services: Pick<ApiServices, 'keys' | 'consoleSessions'>;
  config: ApiConfig;
  wrongKeys: WrongKeys;
}) {
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

/** So many wrong keys cost an address nothing: somebody mistypes, a program has an old key. */
const free = 10;
const firstPauseMs = 1_000;
const longestPauseMs = 60_000;
/** Addresses that are remembered; the one that was quiet longest gives way. */
const maxAddresses = 10_000;

interface Attempts {
  count: number;
  /** The pause that the next wrong key costs begins to be forgotten then. */
  lastAtMs: number;
}

export interface WrongKeys {
  /** Notes a wrong key. Answers how long its sender is to wait in milliseconds; 0: not at all. */
  note(remoteAddress: string): number;
}

/**
 * Counts wrong keys by address. Who sends many is told to wait, longer each time, up to a minute; the pauses are
 * forgotten one by one in quiet times. Only wrong keys are counted and refused: a right one is taken from any address
 * at any time, so nobody is locked out by what others send from the same address.
 */
export function createWrongKeys(clock: Clock): WrongKeys {
  const addresses = new Map<string, Attempts>();

  function countNow(address: string, nowMs: number): number {
    const before = addresses.get(address);
    if (!before) return 0;
    const forgotten = Math.floor((nowMs - before.lastAtMs) / longestPauseMs);
    return Math.max(0, before.count - forgotten);
  }

  return {
    note(remoteAddress) {
      const nowMs = clock.now().getTime();
      const address = networkOf(remoteAddress);
      const count = Math.min(countNow(address, nowMs) + 1, free + 8);
      addresses.delete(address);
      addresses.set(address, { count, lastAtMs: nowMs });
      forgetOldest(addresses, maxAddresses);
      return count <= free ? 0 : Math.min(firstPauseMs * 2 ** (count - free - 1), longestPauseMs);
    },
  };
}

/** An owner of one IPv6 address has 2^64 of them. */
function networkOf(address: string): string {
  if (!isIPv6(address) || address.startsWith('::ffff:')) return address;
  const [head = '', tail = ''] = address.split('::');
  const groups = head === '' ? [] : head.split(':');
  const rest = tail === '' ? [] : tail.split(':');
  const whole = address.includes('::')
    ? [...groups, ...Array<string>(8 - groups.length - rest.length).fill('0'), ...rest]
    : groups;
  return whole.slice(0, 4).join(':');
}

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
