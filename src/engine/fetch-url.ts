import { present } from '../base/collections.ts';
import { Agent, fetch, type Response } from 'undici';
import type { AddressGuard } from '../base/address-guard.ts';
import { MemorydError } from '../base/errors.ts';
import { readRetryAfter } from '../base/retry-after.ts';
import { storableText } from '../base/storable.ts';

/** Content fetched from an address. */
export interface FetchedContent {
  /** Where the last redirect led. */
  url: string;
  bytes: Uint8Array;
  /** The content type with its parameters, as the server says. */
  mimeType?: string;
  /** Last part of the path, when there is one. */
  name?: string;
}

/** Fetches documents whose content is an address. */
export interface UrlFetcher {
  /**
   * Throws `MemorydError`: `fetch_blocked` for an address that is not public, also after a redirect;
   * `too_large`; `unsupported_type`; `fetch_failed`, which is not to be tried again (`shouldRetry`
   * false) where the server said that it never gives this. The signal's reason when it aborts.
   */
  fetch(url: string, signal: AbortSignal): Promise<FetchedContent>;
  close(): Promise<void>;
}

export interface UrlFetcherOptions {
  guard: AddressGuard;
  /** Of the content, unpacked. Default 10 MiB. */
  maxBytes?: number;
  /** For everything, redirects included. Default 30,000. */
  timeoutMs?: number;
}

interface Limits {
  maxBytes: number;
  timeoutMs: number;
}

const connectTimeoutMs = 10_000;
const maxRetryAfterMs = 60 * 60_000;
const connectionsPerHost = 4;
const maxRedirects = 5;
const userAgent = 'memoryd (document fetch)';
/** Formats that the extractor reads best, for servers that have several forms of a page. */
const accepted = 'text/html,application/xhtml+xml,text/*;q=0.9,application/pdf;q=0.9,*/*;q=0.5';
const redirects = new Set([301, 302, 303, 307, 308]);
/** Another attempt would be answered alike: 401, 403, 404, 410 and the rest of what is the caller's fault. */
const passing = new Set([408, 425, 429]);

/** Connections go to the addresses that the guard has checked, so nothing can change between check and use. */
export function createUrlFetcher(options: UrlFetcherOptions): UrlFetcher {
  const { guard } = options;
  const limits = { maxBytes: 10 * 1024 * 1024, timeoutMs: 30_000, ...options };
  const agent = new Agent({
    connections: connectionsPerHost,
    connect: { timeout: connectTimeoutMs, lookup: guard.lookup },
    headersTimeout: limits.timeoutMs,
    bodyTimeout: limits.timeoutMs,
  });

  async function follow(first: string, signal: AbortSignal): Promise<FetchedContent> {
    let url = guard.check(first);
    for (let hops = 0; ; hops++) {
      const response = await fetch(url, {
        dispatcher: agent,
        redirect: 'manual',
        signal,
        headers: { accept: accepted, 'user-agent': userAgent },
      });
      const location = redirects.has(response.status) ? response.headers.get('location') : null;
      if (location === null) return readContent(response, url, limits.maxBytes);
      await discard(response);
      if (hops === maxRedirects) throw failedForGood(`${url.host} redirects more than ${hops} times.`);
      url = guard.check(nextAddress(location, url));
    }
  }

  return {
    async fetch(url, signal) {
      const deadline = AbortSignal.timeout(limits.timeoutMs);
      try {
        return await follow(url, AbortSignal.any([signal, deadline]));
      } catch (error) {
        signal.throwIfAborted();
        throw failureOf(error, url, deadline.aborted ? limits : null);
      }
    },
    close: () => agent.destroy(),
  };
}

/** As text, so that the guard still sees how the host is written. */
function nextAddress(location: string, from: URL): string {
  if (/^https?:/i.test(location)) return location;
  if (!URL.canParse(location, from.href))
    throw failedForGood(`${from.host} redirects to something that is no address.`);
  return new URL(location, from).href;
}

async function readContent(response: Response, url: URL, maxBytes: number): Promise<FetchedContent> {
  if (!response.ok) {
    await discard(response);
    throw refusalOf(response, url);
  }
  const mimeType = response.headers.get('content-type');
  const bytes = await readBytes(response, url, maxBytes);
  if (bytes.length === 0) throw failedForGood(`${url.host} answered with an empty page.`);
  const name = nameOf(url);
  return {
    url: url.href,
    bytes,
    ...present({ mimeType: mimeType || undefined, name: name ?? undefined }),
  };
}

/** Counts what comes, unpacked: neither a missing length nor a small packed one lets more in. */
async function readBytes(response: Response, url: URL, maxBytes: number): Promise<Uint8Array> {
  const tooLarge = () => new MemorydError('too_large', `${url.host} sends more than ${maxBytes} bytes.`);
  if (Number(response.headers.get('content-length')) > maxBytes) {
    await discard(response);
    throw tooLarge();
  }
  const parts: Uint8Array[] = [];
  let length = 0;
  // Leaving the loop cancels the body.
  for await (const part of response.body ?? []) {
    length += (part as Uint8Array).length;
    if (length > maxBytes) throw tooLarge();
    parts.push(part as Uint8Array);
  }
  return Buffer.concat(parts);
}

async function discard(response: Response): Promise<void> {
  await response.body?.cancel().catch(() => {});
}

function nameOf(url: URL): string | null {
  const last = url.pathname.split('/').at(-1) ?? '';
  if (!last.includes('.')) return null;
  try {
    return storableText(decodeURIComponent(last), 255);
  } catch {
    return last.slice(0, 255);
  }
}

function refusalOf(response: Response, url: URL): MemorydError {
  const { status } = response;
  const message = `${url.host} answered with status ${status}.`;
  if (status < 500 && !passing.has(status)) return failedForGood(message);
  const { headers } = response;
  const waitMs = readRetryAfter({ retryAfter: headers.get('retry-after'), date: headers.get('date') });
  const retryAfterMs = waitMs === null ? undefined : Math.min(waitMs, maxRetryAfterMs);
  return new MemorydError('fetch_failed', message, retryAfterMs === undefined ? {} : { retryAfterMs });
}

function failedForGood(message: string): MemorydError {
  return new MemorydError('fetch_failed', message, { shouldRetry: false });
}

function failureOf(thrown: unknown, address: string, passed: Limits | null): unknown {
  const known = knownIn(thrown);
  if (known) return known;
  const host = URL.canParse(address) ? new URL(address).host : 'The address';
  if (passed) return new MemorydError('fetch_failed', `${host} did not answer within ${passed.timeoutMs} ms.`);
  return new MemorydError('fetch_failed', `${host} cannot be fetched (${codeIn(thrown)}).`, { cause: thrown });
}

function knownIn(error: unknown): MemorydError | null {
  for (let current = error, depth = 0; current instanceof Error && depth < 5; current = current.cause, depth++) {
    if (MemorydError.is(current)) return current;
  }
  return null;
}

function codeIn(error: unknown): string {
  for (let current = error, depth = 0; current instanceof Error && depth < 5; current = current.cause, depth++) {
    const { code, errors } = current as NodeJS.ErrnoException & { errors?: NodeJS.ErrnoException[] };
    if (typeof code === 'string') return code;
    if (errors?.[0]?.code !== undefined) return errors[0].code;
  }
  return 'no answer';
}
