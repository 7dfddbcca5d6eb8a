import { isRedirect } from './exchange.ts';
import type { Origins } from './origins.ts';
import type { Call, Performed } from './perform.ts';
import type { Answer } from './transport.ts';

export interface FetchParts {
  perform(call: Call): Promise<Performed>;
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
export function createFetch(parts: FetchParts): typeof globalThis.fetch {
  return async (input, init) => {
    const address = input instanceof Request ? input.url : input;
    const url = new URL(parts.origins.check(address.toString()));
    // Reads every kind of body and of headers.
    const request = new Request(input, init);
    const body = request.body === null ? null : new Uint8Array(await request.arrayBuffer());
    const { answer } = await parts.perform({
      method: request.method,
      url,
      headers: { 'user-agent': parts.userAgent, ...headersOf(request) },
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

function headersOf(request: Request): Record<string, string> {
  return Object.fromEntries(request.headers);
}

function toWebResponse({ status, statusText, headers, bytes, url }: Answer): Response {
  const body = bodiless.has(status) ? null : (bytes as Uint8Array<ArrayBuffer>);
  const response = new Response(body, { status, statusText, headers });
  // A response that was not made by fetch has no address; SDKs show it.
  Object.defineProperty(response, 'url', { value: url.href });
  return response;
}
