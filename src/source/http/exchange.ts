import type { Clock } from '../../base/clock.ts';
import { MemorydError } from '../../base/errors.ts';
import type { Metrics } from '../../base/metrics.ts';
import { transient, badConfig, ConnectorError, type ConnectorSpec } from '../../connector/contract.ts';
import { admit } from '../rate-limit/admission.ts';
import type { RequestBudgets } from '../rate-limit/budgets.ts';
import type { Gate } from '../../base/concurrency.ts';
import { readReset } from '../rate-limit/limited-answers.ts';
import { type Again, type HttpAnswer, type Hop, type SendLimits, type Transport, describeTarget } from './transport.ts';
import { readHttpDate } from '../../base/retry-after.ts';
import type { AddressGuard } from '../../base/address-guard.ts';

/** Shared by all requests of one connection. */
export interface ConnectionHttp {
  provider: string;
  clock: Clock;
  sourceClock: SourceClock;
  origins: Origins;
  transport: Transport;
  metrics: Metrics;
  budgetsOf(method: string, url: URL): RequestBudgets;
  gateOf(origin: string): Gate;
}

interface Exchange extends Omit<SendLimits, 'unguarded'> {
  method: string;
  url: URL;
  /** The connector's own headers, names in lower case. */
  headers: Record<string, string>;
  /** Headers that authorize it; empty when the connector's own do, null when it goes without. */
  authorization: Record<string, string> | null;
  body: string | Uint8Array | null;
  followRedirects: boolean;
}

export type Exchanged =
  | {
      answer: HttpAnswer;
      /** Of the last hop. */
      budgets: RequestBudgets;
      target: string;
      /** The last hop carried the authorization. */
      authorized: boolean;
    }
  | { error: Error; again: Again };

const maxRedirects = 5;

const redirects = new Set([301, 302, 303, 307, 308]);

/** The only headers of a connector that another origin may see: a token can be in any other. */
const harmless = new Set(['accept', 'accept-language', 'user-agent', 'range', 'content-type']);

/**
 * One attempt: the request and what it is redirected to. Another origin gets neither the
 * authorization nor headers of the connector, also when it redirects back (as WHATWG fetch does).
 */
export async function exchange(connection: ConnectionHttp, request: Exchange): Promise<Exchanged> {
  let hop: Hop = { ...request, headers: { ...request.headers, ...lowerCased(request.authorization ?? {}) } };
  let authorized = request.authorization !== null;
  for (let count = 0; ; count++) {
    const target = describeTarget(hop.method, hop.url);
    const budgets = connection.budgetsOf(hop.method, hop.url);
    const { sent, sentAt } = await sendAdmitted(connection, hop, request, { budgets, target });
    if ('error' in sent) return sent;
    const { answer } = sent;
    hear(connection, answer, budgets, sentAt);
    const location = answer.headers['location'];
    if (!request.followRedirects || !isRedirect(answer) || location === undefined)
      return { answer, budgets, target, authorized };
    if (count === maxRedirects) {
      return { error: transient(`${target} is redirected more than ${maxRedirects} times`), again: 'never' };
    }
    const next = redirected(connection, hop, answer.status, location);
    if (next.url.origin !== hop.url.origin) {
      if (next.body !== null) {
        return { error: transient(`${target} sends its body on to another host, which is not done`), again: 'never' };
      }
      next.headers = Object.fromEntries(Object.entries(next.headers).filter(([name]) => harmless.has(name)));
      authorized = false;
    }
    hop = next;
  }
}

export function isRedirect({ status, headers }: HttpAnswer): boolean {
  return redirects.has(status) && headers['location'] !== undefined;
}

export function lowerCased(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

function redirected(connection: ConnectionHttp, hop: Hop, status: number, location: string): Hop {
  const absolute = URL.canParse(location) ? location : URL.parse(location, hop.url.href)?.href;
  const url = connection.origins.check(absolute ?? '');
  // Redirects of a POST are followed with GET, as all clients do (RFC 9110 section 15.4).
  const becomesGet = status === 303 ? hop.method !== 'HEAD' : status < 303 && hop.method === 'POST';
  if (!becomesGet) return { ...hop, url };
  const { 'content-type': _, ...headers } = hop.headers;
  return { method: 'GET', url, headers, body: null };
}

/** Sends one hop when its budgets let it. */
async function sendAdmitted(
  connection: ConnectionHttp,
  hop: Hop,
  limits: Omit<SendLimits, 'unguarded'>,
  { budgets, target }: { budgets: RequestBudgets; target: string },
) {
  const { clock, metrics, provider } = connection;
  const leave = await admit({
    budgets: budgets.budgets,
    gate: connection.gateOf(hop.url.origin),
    signal: limits.signal,
    clock,
    target,
  });
  const labels = { provider, class: budgets.label };
  const sentAt = clock.now().getTime();
  let status = 0;
  try {
    const sent = await connection.transport.send(hop, { ...limits, unguarded: connection.origins.isFixed(hop.url) });
    if ('answer' in sent) ({ status } = sent.answer);
    return { sent, sentAt };
  } catch (error) {
    throw MemorydError.is(error) && error.code === 'fetch_blocked' ? connection.origins.refused(hop.url, error) : error;
  } finally {
    const now = clock.now().getTime();
    metrics.count('memoryd_source_requests_total', { ...labels, status: status === 0 ? 'none' : String(status) });
    metrics.observe('memoryd_source_request_seconds', labels, now - sentAt);
    for (const budget of budgets.budgets) budget.ended(status > 0 && status < 400);
    leave();
  }
}

/** Takes note of what an answer tells about its budgets and the source's clock. */
function hear(connection: ConnectionHttp, { headers }: HttpAnswer, { budgets }: RequestBudgets, sentAt: number): void {
  const now = connection.clock.now().getTime();
  connection.sourceClock.heard(headers['date'], sentAt, now);
  for (const budget of budgets) {
    const names = budget.spec.headers;
    if (!names) continue;
    const remaining = headers[names.remaining.toLowerCase()];
    if (remaining === undefined || !/^\s*\d+/.test(remaining)) continue;
    const heard = { headers, now, sourceNow: connection.sourceClock.now().getTime() };
    const resetAt = readReset(headers[names.reset.toLowerCase()], names.resetUnit, heard);
    if (resetAt !== null) budget.observed(Number.parseInt(remaining, 10), resetAt);
  }
}

const samples = 15;

/** `Date` headers are whole seconds, cut off. */
const halfSecondMs = 500;

/** How far the source's clock is from ours, by the `Date` headers of its answers: the median of the last ones. */
interface SourceClock {
  heard(date: string | undefined, sentAt: number, receivedAt: number): void;
  now(): Date;
}

export function createSourceClock(clock: Clock): SourceClock {
  const offsets: number[] = [];
  let medianMs = 0;
  let lastDate: string | undefined;
  return {
    heard(date, sentAt, receivedAt) {
      // Many answers come within a second; one sample of each is enough.
      if (date === lastDate) return;
      lastDate = date;
      const time = readHttpDate(date);
      if (time === null) return;
      offsets.push(time + halfSecondMs - (sentAt + receivedAt) / 2);
      if (offsets.length > samples) offsets.shift();
      medianMs = offsets.toSorted((left, right) => left - right)[Math.floor(offsets.length / 2)]!;
    },
    now: () => new Date(clock.now().getTime() + medianMs),
  };
}

/** Decides how one connection may use an origin. */
export interface Origins {
  /** The authorization may be sent there. */
  mayAuthorize(url: URL): boolean;
  /** The connector itself names this host, for everybody alike: it is not checked. */
  isFixed(url: URL): boolean;
  /** Refuses addresses that may not be fetched, with the connector's error for it. */
  check(url: string | URL): URL;
  /** The error for an address that the guard refused. */
  refused(url: URL, reason: MemorydError): ConnectorError;
}

/** How an operator lets a connection into the own network. */
export const remedy = 'If it is meant, add the host to allowedPrivateHosts (MEMORYD_ALLOWED_PRIVATE_HOSTS).';

export function createOrigins(spec: ConnectorSpec, config: unknown, guard: AddressGuard): Origins {
  const declared = typeof spec.origins === 'function' ? spec.origins(config) : spec.origins;
  const patterns = declared?.map(patternOf);
  const configured = originsIn(config);
  const isDeclared = (url: URL) => patterns?.some((pattern) => pattern.test(url.origin)) ?? false;
  const isFixed = (url: URL) => Array.isArray(spec.origins) && isDeclared(url);

  /** A wrong address in the configuration concerns the whole connection, one in the source's data only an item. */
  function refused(url: URL, reason: MemorydError): ConnectorError {
    if (configured.has(url.origin)) return badConfig(reason.message, remedy);
    return new ConnectorError('forbidden', reason.message, { remedy });
  }

  return {
    mayAuthorize: (url) => patterns === undefined || isDeclared(url),
    isFixed,
    refused,
    check(url) {
      if (!URL.canParse(url.toString())) throw badConfig('An address that the connector uses is not a valid URL.');
      const parsed = new URL(url);
      if (isFixed(parsed)) return parsed;
      try {
        return guard.check(url);
      } catch (error) {
        throw MemorydError.is(error) ? refused(parsed, error) : error;
      }
    },
  };
}

/** `https://*.example.com`: the star is one or more labels. */
function patternOf(origin: string): RegExp {
  const trimmed = origin.toLowerCase().replace(/\/$/, '');
  const normal = trimmed.includes('*') || !URL.canParse(trimmed) ? trimmed : new URL(trimmed).origin;
  const escaped = normal.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '[a-z0-9.-]+');
  return new RegExp(`^${escaped}$`);
}

/** Origins of all addresses that stand in the configuration. */
function originsIn(value: unknown, found = new Set<string>()): Set<string> {
  if (typeof value === 'string' && URL.canParse(value)) found.add(new URL(value).origin);
  if (typeof value === 'object' && value !== null) Object.values(value).forEach((one) => originsIn(one, found));
  return found;
}
