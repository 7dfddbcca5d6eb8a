import type { Socket } from 'node:net';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate, inflateRaw } from 'node:zlib';
import { Agent } from 'undici';
import type { AddressGuard } from '../../base/address-guard.ts';
import { MemorydError } from '../../base/errors.ts';
import { ConnectorError, transient, skip } from '../../connector/contract.ts';

type Decoder = (bytes: Uint8Array, options: { maxOutputLength: number }) => Promise<Uint8Array>;

const unzip: Decoder = promisify(gunzip);

const zlib: Decoder = promisify(inflate);

const raw: Decoder = promisify(inflateRaw);

const decoders: Record<string, Decoder> = {
  gzip: unzip,
  'x-gzip': unzip,
  br: promisify(brotliDecompress),
  // Some servers leave out the zlib header (RFC 9110 section 8.4.1.2).
  deflate: (bytes, options) => ((bytes[0]! & 0x0f) === 8 ? zlib : raw)(bytes, options),
};

/** Content codings that `decode` understands. */
const acceptedCodings = 'gzip, deflate, br';

/** The bytes of a body, counted while they come. Throws `skip` of `too_large` at the first byte too many. */
async function readBody(
  body: AsyncIterable<Uint8Array>,
  headers: Record<string, string>,
  options: { maxBytes: number; target: string; hasBody: boolean },
): Promise<Uint8Array> {
  if (options.hasBody && Number(headers['content-length']) > options.maxBytes) throw tooLarge(options);
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of body) {
    size += part.length;
    if (size > options.maxBytes) throw tooLarge(options);
    parts.push(part);
  }
  const bytes = parts.length === 1 ? parts[0]! : Buffer.concat(parts, size);
  return size === 0 ? bytes : decode(bytes, headers['content-encoding'], options);
}

async function decode(
  bytes: Uint8Array,
  codings: string | undefined,
  options: { maxBytes: number; target: string },
): Promise<Uint8Array> {
  let decoded = bytes;
  // The last coding was applied last.
  for (const coding of (codings ?? '').toLowerCase().split(',').toReversed()) {
    const name = coding.trim();
    if (name === '' || name === 'identity') continue;
    const decoder = decoders[name];
    if (!decoder)
      throw transient(`${options.target} answered in the coding ${name.slice(0, 20)}, which nobody asked for`);
    try {
      decoded = await decoder(decoded, { maxOutputLength: options.maxBytes });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(options);
      throw transient(`${options.target} answered with damaged ${name} data`, error);
    }
  }
  return decoded;
}

function tooLarge({ maxBytes, target }: { maxBytes: number; target: string }): Error {
  return skip('too_large', `The answer to ${target} is larger than ${maxBytes} bytes.`);
}

/** One request as it goes over the wire. */
export interface Hop {
  method: string;
  url: URL;
  /** Names in lower case. */
  headers: Record<string, string>;
  body: string | Uint8Array | null;
}

export interface SendLimits {
  timeoutMs: number;
  idleTimeoutMs: number;
  maxBytes: number;
  signal: AbortSignal;
  /** The host is the connector's own choice; otherwise its addresses are checked. */
  unguarded: boolean;
}

export interface HttpAnswer {
  status: number;
  statusText: string;
  /** Names in lower case; several values of one name joined by a comma. Without coding and length of the transfer. */
  headers: Record<string, string>;
  bytes: Uint8Array;
  url: URL;
}

/** Whether another attempt makes sense: the request never left, nobody knows whether it arrived, or it would fail again. */
export type Again = 'always' | 'idempotent' | 'never';

type Sent = { answer: HttpAnswer } | { error: Error; again: Again };

export interface Transport {
  /** Throws `fetch_blocked` for an address that is refused, and the reason of the signal when it aborts. */
  send(hop: Hop, limits: SendLimits): Promise<Sent>;
  close(): Promise<void>;
}

const connectTimeoutMs = 10_000;
const keepAliveMs = 10_000;
const maxErrorBytes = 1024 * 1024;

/** Connects to a host. Said here and not by undici, whose types whoever installs the package does not have. */
export type OpenSocket = (
  host: { hostname: string },
  callback: (...answer: [error: null, socket: Socket] | [error: Error, socket: null]) => void,
) => void;

/** Connections that are kept open, so many to a host. Those to checked and unchecked addresses are never shared. */
export function createTransport(options: {
  guard: AddressGuard;
  connectionsPerHost: number;
  connect: OpenSocket | undefined;
}): Transport {
  const { connect } = options;
  const common = {
    connections: options.connectionsPerHost,
    keepAliveTimeout: keepAliveMs,
    pipelining: 1,
  };
  const timeout = connectTimeoutMs;
  const guarded = new Agent({ ...common, connect: connect ?? { timeout, lookup: options.guard.lookup } });
  const open = new Agent({ ...common, connect: connect ?? { timeout } });

  async function send(hop: Hop, limits: SendLimits): Promise<Sent> {
    const deadline = startDeadline(limits.signal, limits.timeoutMs);
    try {
      return { answer: await exchange(limits.unguarded ? open : guarded, hop, limits, deadline.signal) };
    } catch (error) {
      limits.signal.throwIfAborted();
      return failureOf(hop, error, deadline.passed ? limits.timeoutMs : null);
    } finally {
      deadline.end();
    }
  }

  return {
    send,
    close: async () => void (await Promise.all([guarded.destroy(), open.destroy()])),
  };
}

async function exchange(agent: Agent, hop: Hop, limits: SendLimits, signal: AbortSignal): Promise<HttpAnswer> {
  const { url, method } = hop;
  const response = await agent.request({
    origin: url.origin,
    path: url.pathname + url.search,
    method,
    headers: { 'accept-encoding': acceptedCodings, ...hop.headers },
    body: hop.body,
    signal,
    headersTimeout: limits.timeoutMs,
    bodyTimeout: limits.idleTimeoutMs,
  });
  const headers = flatten(response.headers);
  const bytes = await readBody(response.body, headers, {
    // What an error says may be longer than what was wanted.
    maxBytes: response.statusCode < 400 ? limits.maxBytes : Math.max(limits.maxBytes, maxErrorBytes),
    target: describeTarget(method, url),
    hasBody: method !== 'HEAD' && response.statusCode !== 304,
  }).catch((error: unknown) => {
    // Nobody reads the rest; its end is no news.
    response.body.on('error', () => {}).destroy();
    throw error;
  });
  delete headers['content-encoding'];
  delete headers['content-length'];
  delete headers['transfer-encoding'];
  return { status: response.statusCode, statusText: response.statusText, headers, bytes, url };
}

function flatten(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const name in headers) {
    const value = headers[name];
    if (value !== undefined) flat[name] = typeof value === 'string' ? value : value.join(', ');
  }
  return flat;
}

/** Failures before anything was sent. */
const unsent = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

function failureOf(hop: Hop, thrown: unknown, timedOutAfterMs: number | null): Sent {
  const blocked = blockedIn(thrown);
  if (blocked) throw blocked;
  const error = thrown as NodeJS.ErrnoException;
  // A body that was too large or damaged: its own message says so.
  if (ConnectorError.is(error)) return { error, again: 'never' };
  const target = describeTarget(hop.method, hop.url);
  if (timedOutAfterMs !== null) {
    return { error: transient(`${target} did not answer within ${timedOutAfterMs} ms`), again: 'idempotent' };
  }
  const code = codeOf(error);
  if (/CERT|SSL|TLS|SELF_SIGNED|UNABLE_TO/.test(code)) {
    return { error: transient(`${target} has a certificate that is not trusted (${code})`), again: 'never' };
  }
  if (code === 'UND_ERR_INVALID_ARG') {
    return { error: transient(`${target} could not be sent: a header or the path is malformed`), again: 'never' };
  }
  return { error: transient(`${target} failed: ${code}`), again: unsent.has(code) ? 'always' : 'idempotent' };
}

/** With several addresses, each has its own failure. */
function codeOf(error: NodeJS.ErrnoException & { errors?: NodeJS.ErrnoException[] }): string {
  return (
    error.code ?? error.errors?.[0]?.code ?? (error.cause as NodeJS.ErrnoException | undefined)?.code ?? 'no answer'
  );
}

function blockedIn(error: unknown): MemorydError | undefined {
  let current = error;
  for (let depth = 0; depth < 4 && current instanceof Error; depth++) {
    if (MemorydError.is(current)) return current;
    current = current.cause;
  }
  return undefined;
}

/** A signal that aborts with another one, or after a time, until it is ended. */
interface Deadline {
  readonly signal: AbortSignal;
  readonly passed: boolean;
  end(): void;
}

/** `AbortSignal.any` with `AbortSignal.timeout`, but nothing of it stays on the outer signal, which lives much longer. */
function startDeadline(outer: AbortSignal, timeoutMs: number): Deadline {
  const controller = new AbortController();
  let passed = false;
  const abort = () => controller.abort(outer.reason);
  const timer = setTimeout(() => {
    passed = true;
    controller.abort(new Error('the time is over'));
  }, timeoutMs);
  if (outer.aborted) abort();
  else outer.addEventListener('abort', abort, { once: true });
  return {
    signal: controller.signal,
    get passed() {
      return passed;
    },
    end() {
      clearTimeout(timer);
      outer.removeEventListener('abort', abort);
    },
  };
}

const maxSegments = 6;

/**
 * The path as messages may show it: words and versions stay, everything else (ids, names, tokens) is
 * a star. Queries are never shown.
 */
export function pathPattern(path: string): string {
  const segments = path.split('/').slice(1);
  const shown = segments.slice(0, maxSegments).map((segment) => (isWord(segment) ? segment : '*'));
  return `/${shown.join('/')}${segments.length > maxSegments ? '/…' : ''}`;
}

/** `GET api.example.com/v1/pages/*`. */
export function describeTarget(method: string, url: URL): string {
  return `${method} ${url.host}${pathPattern(url.pathname)}`;
}

function isWord(segment: string): boolean {
  return (
    segment.length <= 24 && /^([a-z]+([-_.][a-z]+)?|[a-z]+([A-Z][a-z]+){1,3}|v\d{1,2}(\.\d{1,2})?)?$/.test(segment)
  );
}
