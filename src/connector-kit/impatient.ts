import type { Context, Http, HttpOptions, JsonObject } from '../connector/contract.ts';

/**
 * The same context, with requests that wait no longer than this: for sources that never answer. `config` says
 * the same to a connector that does not ask through `ctx.http`.
 */
export function impatient(context: Context<any>, timeoutMs: number, config: JsonObject = {}): Context<any> {
  const { http } = context;
  const limited = (options: HttpOptions = {}): HttpOptions => ({
    ...options,
    timeoutMs: Math.min(options.timeoutMs ?? Infinity, timeoutMs),
    idleTimeoutMs: Math.min(options.idleTimeoutMs ?? Infinity, timeoutMs),
  });
  const wrapped: Http = {
    get: (url, options) => http.get(url, limited(options)),
    post: (url, options) => http.post(url, limited(options)),
    request: (method, url, options) => http.request(method, url, limited(options)),
    fetch: (input, init) => {
      const signals = [AbortSignal.timeout(timeoutMs), ...(init?.signal ? [init.signal] : [])];
      return http.fetch(input, { ...init, signal: AbortSignal.any(signals) });
    },
  };
  return { ...context, http: wrapped, config: { ...context.config, ...config } };
}
