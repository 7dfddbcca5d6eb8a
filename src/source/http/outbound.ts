import { randomUUID, createHash } from 'node:crypto';
import type { LookupAddress } from 'node:dns';
import type { Authorization } from '../../auth/authorization.ts';
import type { AddressGuard } from '../../base/address-guard.ts';
import type { Clock } from '../../base/clock.ts';
import { present } from '../../base/collections.ts';
import { createGate, type Gate } from '../../base/concurrency.ts';
import { MemorydError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import type { Metrics } from '../../base/metrics.ts';
import {
  type ConnectorSpec,
  type HostAddress,
  type Http,
  badConfig,
  transient,
  type HttpOptions,
  type HttpResponse,
} from '../../connector/contract.ts';
import type { Database } from '../../store/database.ts';
import { readValidators, removeAnswer, saveAnswer, takeAnswer, trimAnswers } from '../../store/http-answers.ts';
import { createBudgets, limitsOf } from '../rate-limit/budgets.ts';
import { createOrigins, remedy, type Origins, lowerCased, isRedirect, createSourceClock } from './exchange.ts';
import { createRetryingSender, type HttpCall, type Performed } from './send-with-retries.ts';
import { createTransport, type HttpAnswer, type OpenSocket } from './transport.ts';

export interface OutboundOptions {
  database: Database;
  clock: Clock;
  log: Logger;
  guard: AddressGuard;
  metrics: Metrics;
  /** See `Context.ownFolders`. Default: none. */
  ownFolders?: readonly string[];
  /** From 0 to 1; spreads repeated requests. */
  random?: () => number;
  /** Requests to one host at once, of all connections together. Default 16. */
  connectionsPerHost?: number;
  /** How hosts are connected to, in place of DNS and TLS. */
  connect?: OpenSocket | undefined;
}

/** Whose requests they are, and how they are authorized. */
export interface SourceOptions {
  spec: ConnectorSpec;
  config: unknown;
  /** Null for a probe before there is a connection. */
  connectionId: string | null;
  /** The OAuth app that budgets `per: 'application'` are counted by. Default: all connections of the provider share one. */
  application?: string | undefined;
  /** Null: requests are sent without. */
  authorization: Authorization | null;
  /** Ends every request and every wait. */
  signal: AbortSignal;
}

export interface SourceHttp {
  http: Http;
  /** See `Context.addresses`. */
  addresses(host: string): Promise<HostAddress[]>;
  ownFolders: readonly string[];
  /** The time by the source's clock, as far as its answers told. */
  now(): Date;
}

/** Everything that the requests of this process to sources share: connections, budgets, kept answers, figures. */
export interface Outbound {
  /** Costs nothing before the first request, which throws `connector_invalid` where the connector's budgets make no sense. */
  open(source: SourceOptions): SourceHttp;
  close(): Promise<void>;
}

export function createOutbound(options: OutboundOptions): Outbound {
  const {
    database,
    clock,
    log,
    guard,
    metrics,
    random = Math.random,
    connectionsPerHost = 16,
    ownFolders = [],
    connect,
  } = options;
  const transport = createTransport({ guard, connectionsPerHost, connect });
  const budgets = createBudgets({ database, clock });
  const gateOf = createGates(connectionsPerHost);
  let sweeping = Promise.resolve();

  function openHttp(source: SourceOptions): Pick<SourceHttp, 'http' | 'now'> {
    const { spec, connectionId, signal } = source;
    sweeping = sweeping
      .then(() => budgets.sweep())
      .catch((error: unknown) => log.warn({ err: error }, 'unused request budgets could not be removed'));
    const sourceClock = createSourceClock(clock);
    const origins = createOrigins(spec, source.config, guard);
    const budgetsOf = budgets.matcher(limitsOf(spec, source.config), {
      provider: spec.name,
      connection: connectionId ?? `new ${randomUUID()}`,
      application: source.application ?? 'default',
    });
    const connection = { provider: spec.name, clock, sourceClock, origins, transport, metrics, budgetsOf, gateOf };
    const { authorization } = source;
    const http = createHttp({
      perform: createRetryingSender({ connection, authorization, classify: spec.classify, random, log }),
      origins,
      kept: connectionId === null ? null : createKeptAnswers({ database, clock, connectionId, random }),
      userAgent: `memoryd ${spec.name}`,
      signal,
    });
    return { http, now: sourceClock.now };
  }

  return {
    open: (source) => ({
      ...openedLater(() => openHttp(source), clock),
      addresses: (host) => checkedAddresses(guard, host),
      ownFolders,
    }),
    async close() {
      await sweeping;
      await transport.close();
    },
  };
}

/** The gate of an origin, which lets so many requests through at once. */
function createGates(connectionsPerHost: number): (origin: string) => Gate {
  const gates = new Map<string, Gate>();
  return (origin) => {
    let gate = gates.get(origin);
    if (!gate) {
      for (const [other, { empty }] of gates) if (empty) gates.delete(other);
      gates.set(origin, (gate = createGate(connectionsPerHost)));
    }
    return gate;
  };
}

/** What is opened by its first request. */
function openedLater(open: () => Pick<SourceHttp, 'http' | 'now'>, clock: Clock): Pick<SourceHttp, 'http' | 'now'> {
  let opened: ReturnType<typeof open> | undefined;
  const client = async () => (opened ??= open()).http;
  return {
    http: {
      request: async (method, url, options) => (await client()).request(method, url, options),
      get: async (url, options) => (await client()).get(url, options),
      post: async (url, options) => (await client()).post(url, options),
      fetch: async (input, init) => (await client()).fetch(input, init),
    },
    now: () => opened?.now() ?? clock.now(),
  };
}

/** The addresses of a host, also of one that is an address itself; see `Context.addresses`. */
export async function checkedAddresses(guard: AddressGuard, host: string): Promise<HostAddress[]> {
  const found = await new Promise<LookupAddress[]>((resolve, reject) => {
    guard.lookup(host, { all: true }, (error, addresses) => {
      if (error) reject(judge(host, error));
      else resolve(addresses as LookupAddress[]);
    });
  });
  return found.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }));
}

function judge(host: string, error: Error): Error {
  if (MemorydError.is(error)) return badConfig(error.message, remedy);
  return transient(`${host} has no address (${(error as { code?: string }).code ?? 'no answer'}).`, error);
}

interface HttpParts {
  perform(call: HttpCall): Promise<Performed>;
  origins: Origins;
  /** Null before there is a connection to keep them for. */
  kept: KeptAnswers | null;
  userAgent: string;
  signal: AbortSignal;
}

const defaults = { maxBytes: 25 * 1024 * 1024, timeoutMs: 30_000, idleTimeoutMs: 10_000 };

/** The HTTP client of a connector. */
function createHttp(parts: HttpParts): Http {
  const { perform, kept, origins, userAgent, signal } = parts;

  async function request(method: string, url: string, options: HttpOptions = {}): Promise<HttpResponse> {
    const call = callOf(method.toUpperCase(), withQuery(origins.check(url), options.query), options);
    const conditional = call.conditional && kept !== null ? await requestConditionally(kept, call) : null;
    const { answer, target, error } = conditional ?? (await perform({ ...call, conditional: false }));
    if (error) throw error;
    return toResponse(answer, target);
  }

  function callOf(method: string, url: URL, options: HttpOptions): HttpCall {
    const { json, body, headers, accept, anonymous, conditional, idempotent, ...limits } = options;
    return {
      method,
      url,
      headers: {
        'user-agent': userAgent,
        ...(json === undefined ? {} : { 'content-type': 'application/json' }),
        ...lowerCased(headers ?? {}),
      },
      body: json === undefined ? (body ?? null) : JSON.stringify(json),
      maxBytes: limits.maxBytes ?? defaults.maxBytes,
      timeoutMs: limits.timeoutMs ?? defaults.timeoutMs,
      idleTimeoutMs: limits.idleTimeoutMs ?? defaults.idleTimeoutMs,
      accept: accept ?? null,
      anonymous: anonymous ?? false,
      conditional: (conditional ?? false) && (method === 'GET' || method === 'HEAD'),
      idempotent: idempotent ?? null,
      followRedirects: true,
      signal,
    };
  }

  return {
    request,
    get: (url, options) => request('GET', url, options),
    post: (url, options) => request('POST', url, options),
    fetch: createFetch({ perform, origins, userAgent, signal, limits: defaults }),
  };

  /** Null when the kept answer was removed while the source was asked about it. */
  async function requestConditionally(answers: KeptAnswers, call: HttpCall): Promise<Performed | null> {
    const key = answerKey(call.method, call.url, call.headers);
    const validators = await answers.validators(key);
    const performed = await perform({ ...call, headers: { ...call.headers, ...validators } });
    const { answer, error } = performed;
    if (error) return performed;
    if (answer.status === 304) {
      const revalidated = await answers.revalidated(key, answer);
      return revalidated && { ...performed, answer: revalidated };
    }
    if (answer.status === 200) await answers.keep(key, answer, validators !== null);
    return performed;
  }
}

function withQuery(url: URL, query: HttpOptions['query']): URL {
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined) url.searchParams.set(name, String(value));
  }
  return url;
}

function toResponse({ status, headers, bytes }: HttpAnswer, target: string): HttpResponse {
  const text = () => new TextDecoder().decode(bytes);
  let parsed: { value: unknown } | undefined;
  return {
    status,
    headers,
    bytes,
    text,
    get json() {
      return (parsed ??= { value: parse(text(), target) }).value;
    },
  };
}

/** The parser's own message would quote the body. */
function parse(text: string, target: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw transient(`${target} answered with something that is not JSON`);
  }
}

interface FetchParts {
  perform(call: HttpCall): Promise<Performed>;
  origins: Origins;
  userAgent: string;
  signal: AbortSignal;
  limits: { maxBytes: number; timeoutMs: number; idleTimeoutMs: number };
}

/** The statuses whose responses have no body (WHATWG fetch, null body status). */
const bodiless = new Set([101, 103, 204, 205, 304]);

/**
 * The same way to the source as a `fetch` function. SDKs judge statuses themselves, so answers of
 * any status come back once repeating does not help.
 */
function createFetch(parts: FetchParts): typeof globalThis.fetch {
  return async (input, init) => {
    const address = input instanceof Request ? input.url : input;
    const url = new URL(parts.origins.check(address.toString()));
    // Reads every kind of body and of headers.
    const request = new Request(input, init);
    const body = request.body === null ? null : new Uint8Array(await request.arrayBuffer());
    const { answer } = await parts.perform({
      method: request.method,
      url,
      headers: { 'user-agent': parts.userAgent, ...Object.fromEntries(request.headers) },
      body,
      ...parts.limits,
      accept: null,
      anonymous: false,
      conditional: false,
      idempotent: null,
      followRedirects: request.redirect === 'follow',
      // An own signal costs something, so only where the SDK gave one.
      signal: init?.signal || input instanceof Request ? AbortSignal.any([parts.signal, request.signal]) : parts.signal,
    });
    if (request.redirect === 'error' && isRedirect(answer)) {
      throw new TypeError('fetch failed: the answer is a redirect');
    }
    return toWebResponse(answer);
  };
}

function toWebResponse({ status, statusText, headers, bytes, url }: HttpAnswer): Response {
  const body = bodiless.has(status) ? null : (bytes as Uint8Array<ArrayBuffer>);
  const response = new Response(body, { status, statusText, headers });
  // A response that was not made by fetch has no address; SDKs show it.
  Object.defineProperty(response, 'url', { value: url.href });
  return response;
}

/** The answers of one connection that its source is asked again about with their validators (RFC 9110 section 13). */
interface KeptAnswers {
  /** The headers that make a request conditional; null when no answer is kept. */
  validators(key: string): Promise<Record<string, string> | null>;
  /** The kept answer for a 304, with the headers that came with it; null when it was removed meanwhile. */
  revalidated(key: string, answer: HttpAnswer): Promise<HttpAnswer | null>;
  /** Keeps a 200, or forgets an older answer when this one cannot be kept. */
  keep(key: string, answer: HttpAnswer, replaces: boolean): Promise<void>;
}

const maxBodyBytes = 256 * 1024;
const maxConnectionBytes = 16 * 1024 * 1024;
const maxConnectionAnswers = 2_000;
/** One of so many saves also trims. */
const trimEvery = 16;
/** Headers that a connector reads besides the body. */
const keptHeaders = ['content-type', 'link', 'etag', 'last-modified'];

function createKeptAnswers(options: {
  database: Database;
  clock: Clock;
  connectionId: string;
  random: () => number;
}): KeptAnswers {
  const { database, clock, connectionId, random } = options;

  return {
    async validators(key) {
      const row = await readValidators(database, { connectionId, key });
      if (!row) return null;
      return present({ 'if-none-match': row.etag ?? undefined, 'if-modified-since': row.lastModified ?? undefined });
    },
    async revalidated(key, answer) {
      const row = await takeAnswer(database, { connectionId, key }, clock.now());
      return row && { ...answer, headers: { ...row.headers, ...answer.headers }, bytes: row.body };
    },
    async keep(key, { headers, bytes }, replaces) {
      const etag = headers['etag'] ?? null;
      const lastModified = headers['last-modified'] ?? null;
      const forbidden = /\bno-store\b/i.test(headers['cache-control'] ?? '');
      if ((etag === null && lastModified === null) || forbidden || bytes.length > maxBodyBytes) {
        if (replaces) await removeAnswer(database, { connectionId, key });
        return;
      }
      const kept = Object.fromEntries(keptHeaders.flatMap((name) => (headers[name] ? [[name, headers[name]]] : [])));
      await saveAnswer(
        database,
        { connectionId, key },
        { etag, lastModified, headers: kept, body: bytes, now: clock.now() },
      );
      if (random() * trimEvery >= 1) return;
      await trimAnswers(database, connectionId, { maxBytes: maxConnectionBytes, maxCount: maxConnectionAnswers });
    },
  };
}

/** Names a request without saying anything of it: addresses can hold secrets. */
function answerKey(method: string, url: URL, headers: Record<string, string>): string {
  const sorted = Object.entries(headers).toSorted(([left], [right]) => (left < right ? -1 : 1));
  return createHash('sha256')
    .update(JSON.stringify([method, url.href, sorted]))
    .digest('base64');
}
