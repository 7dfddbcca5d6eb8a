import { transient, type Http, type HttpOptions, type HttpResponse } from '../../connector/contract.ts';
import { answerKey, type KeptAnswers } from './conditional.ts';
import { lowerCased } from './exchange.ts';
import { createFetch } from './fetch.ts';
import type { Origins } from './origins.ts';
import type { Call, Performed } from './perform.ts';
import type { Answer } from './transport.ts';

export interface HttpParts {
  perform(call: Call): Promise<Performed>;
  origins: Origins;
  /** Null before there is a connection to keep them for. */
  kept: KeptAnswers | null;
  userAgent: string;
  signal: AbortSignal;
}

const defaults = { maxBytes: 25 * 1024 * 1024, timeoutMs: 30_000, idleTimeoutMs: 10_000 };

/** What a connector calls its source with. */
export function createHttp(parts: HttpParts): Http {
  const { perform, kept, origins, userAgent, signal } = parts;

  async function request(method: string, url: string, options: HttpOptions = {}): Promise<HttpResponse> {
    const call = callOf(method.toUpperCase(), withQuery(origins.check(url), options.query), options);
    const conditional = call.conditional && kept !== null ? await requestConditionally(kept, call) : null;
    const { answer, target, error } = conditional ?? (await perform({ ...call, conditional: false }));
    if (error) throw error;
    return toResponse(answer, target);
  }

  function callOf(method: string, url: URL, options: HttpOptions): Call {
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
  async function requestConditionally(answers: KeptAnswers, call: Call): Promise<Performed | null> {
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

function toResponse({ status, headers, bytes }: Answer, target: string): HttpResponse {
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
