import type { Clock } from '../base/clock.ts';
import {
  authExpired,
  forbidden,
  gone,
  rateLimited,
  transient,
  type Http,
  type HttpOptions,
  type HttpResponse,
} from './contract.ts';

const defaultMaxBytes = 25 * 1024 * 1024;
const defaultTimeoutMs = 30_000;

/** HTTP for connectors: time limits, size caps, JSON, and statuses turned into the contract's errors. */
export function createHttp(options: { signal: AbortSignal; clock: Clock; userAgent: string }): Http {
  async function request(method: string, url: string, call: HttpOptions = {}): Promise<HttpResponse> {
    const address = withQuery(url, call.query);
    const timeout = AbortSignal.timeout(call.timeoutMs ?? defaultTimeoutMs);
    const response = await send(address, method, call, AbortSignal.any([options.signal, timeout]));
    const bytes = await readCapped(response, call.maxBytes ?? defaultMaxBytes, address);
    const headers = Object.fromEntries(response.headers);
    const accepted = call.accept?.includes(response.status) ?? (response.ok || response.status === 304);
    if (!accepted) throw statusError(response.status, headers, address, options.clock.now());
    const text = () => new TextDecoder().decode(bytes);
    return {
      status: response.status,
      headers,
      bytes,
      text,
      get json() {
        return JSON.parse(text());
      },
    };
  }

  async function send(address: URL, method: string, call: HttpOptions, signal: AbortSignal): Promise<Response> {
    const body = call.json === undefined ? call.body : JSON.stringify(call.json);
    try {
      return await fetch(address, {
        method,
        signal,
        headers: {
          'user-agent': options.userAgent,
          ...(call.json === undefined ? {} : { 'content-type': 'application/json' }),
          ...call.headers,
        },
        ...(body === undefined ? {} : { body }),
      });
    } catch (error) {
      options.signal.throwIfAborted();
      throw transient(`${address.host} did not answer`, error);
    }
  }

  return {
    request,
    get: (url, call) => request('GET', url, call),
    post: (url, call) => request('POST', url, call),
    fetch: (input, init) =>
      fetch(input, { ...init, signal: AbortSignal.any([options.signal, ...(init?.signal ? [init.signal] : [])]) }),
  };
}

function withQuery(url: string, query: HttpOptions['query']): URL {
  const address = new URL(url);
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined) address.searchParams.set(name, String(value));
  }
  return address;
}

async function readCapped(response: Response, maxBytes: number, address: URL): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of response.body ?? []) {
    size += part.length;
    if (size > maxBytes) throw transient(`the answer of ${address.host} is larger than ${maxBytes} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts);
}

/** Messages name the host and status only: addresses and bodies can hold secrets and content. */
function statusError(status: number, headers: Record<string, string>, address: URL, now: Date): Error {
  const message = `${address.host} answered ${status}`;
  if (status === 401) return authExpired(message);
  if (status === 403) return forbidden(message);
  if (status === 404 || status === 410) return gone(message);
  if (status === 429) return rateLimited(message, retryAt(headers['retry-after'], now));
  return transient(message);
}

/** Retry-After in seconds or as a date (RFC 9110 section 10.2.3); a minute when it is missing. */
function retryAt(header: string | undefined, now: Date): Date {
  const seconds = Number(header);
  if (header !== undefined && Number.isFinite(seconds)) return new Date(now.getTime() + seconds * 1000);
  const date = Date.parse(header ?? '');
  return new Date(Number.isNaN(date) ? now.getTime() + 60_000 : date);
}
