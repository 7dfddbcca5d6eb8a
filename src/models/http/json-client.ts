import type { Clock } from '../../base/clock.ts';
import { MemorydError, type ErrorCode } from '../../base/errors.ts';
import { readRetryAfter } from '../../base/retry-after.ts';

export interface JsonClientOptions {
  /** Names the server in messages, e.g. `embedding server`. */
  server: string;
  /** The address that the path is appended to. */
  baseUrl: string;
  /** Begins with a slash. */
  path: string;
  model: string;
  apiKey: string | undefined;
  /** How the setting that holds the key is called, for messages. */
  apiKeySetting: string;
  errorCode: ErrorCode;
  /** For one attempt, its body included. */
  timeoutMs: number;
  /** The first one included. */
  attempts: number;
  /** Whether a server that was too slow is asked again. */
  retriesTimeouts: boolean;
  /** Longer pauses are left to the caller, as `retryAfterMs`. */
  maxPauseMs: number;
  /** A longer answer is an error. */
  maxAnswerBytes: number;
  clock: Clock;
  /** 0 to below 1, for jitter. */
  random: () => number;
}

/** `refused`: an HTTP status; nothing was done for the request. `lost`: the server may have worked on it in vain. */
export type JsonOutcome = { answer: unknown } | { failure: MemorydError; refused: number | null; lost: boolean };

/** Posts JSON to an OpenAI-compatible server, again where that may help. Throws only the signal's reason. */
export type JsonClient = (body: object, signal: AbortSignal) => Promise<JsonOutcome>;

type Attempt = { answer: unknown } | Failure;
interface Failure {
  failure: MemorydError;
  refused: number | null;
  lost: boolean;
  /** Null: another attempt would fare no better. */
  retryAfterMs: number | null;
}

const firstPauseMs = 500;
const maxBackoffMs = 60_000;

export function createJsonClient(options: JsonClientOptions): JsonClient {
  const { clock, attempts, maxPauseMs, random } = options;
  return async (body, signal) => {
    const text = JSON.stringify(body);
    let lost = false;
    for (let attempt = 1; ; attempt++) {
      const outcome = await post(options, text, signal);
      if ('answer' in outcome) return outcome;
      lost ||= outcome.lost;
      const { failure, refused, retryAfterMs } = outcome;
      if (retryAfterMs === null) return { failure, refused, lost };
      const pauseMs = Math.max(retryAfterMs, backoffMs(attempt, random));
      if (attempt >= attempts || pauseMs > maxPauseMs) {
        return { failure: withRetryAfter(failure, pauseMs), refused, lost };
      }
      await clock.sleep(pauseMs, signal);
      signal.throwIfAborted();
    }
  };
}

/** Half of the pause is fixed, half is chance, so that many clients do not come back together. */
function backoffMs(attempt: number, random: () => number): number {
  const pauseMs = Math.min(firstPauseMs * 2 ** (attempt - 1), maxBackoffMs);
  return Math.round(pauseMs / 2 + (random() * pauseMs) / 2);
}

function withRetryAfter(error: MemorydError, retryAfterMs: number): MemorydError {
  return new MemorydError(error.code, error.message, { cause: error.cause, retryAfterMs });
}

async function post(options: JsonClientOptions, body: string, signal: AbortSignal): Promise<Attempt> {
  const timeout = AbortSignal.timeout(options.timeoutMs);
  let begun = false;
  try {
    const response = await send(options, body, AbortSignal.any([signal, timeout]));
    begun = true;
    if (response.ok) return await readAnswer(options, response);
    await response.body?.cancel();
    return refusal(options, response);
  } catch (cause) {
    signal.throwIfAborted();
    const isSlow = timeout.aborted;
    const reason = isSlow ? `did not answer within ${options.timeoutMs} ms` : describeNetworkFailure(cause);
    const failure = new MemorydError(options.errorCode, `The ${options.server} ${showUrl(options)} ${reason}.`, {
      cause,
    });
    const retryAfterMs = isSlow && !options.retriesTimeouts ? null : 0;
    return { failure, refused: null, lost: isSlow || begun, retryAfterMs };
  }
}

function send(options: JsonClientOptions, body: string, signal: AbortSignal): Promise<Response> {
  const { baseUrl, path, apiKey } = options;
  return fetch(baseUrl + path, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
    },
    body,
    signal,
  });
}

async function readAnswer(options: JsonClientOptions, response: Response): Promise<Attempt> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of response.body ?? []) {
    parts.push(part);
    bytes += part.byteLength;
    // Leaving the loop cancels the body.
    if (bytes > options.maxAnswerBytes) return tooLong(options);
  }
  return { answer: JSON.parse(new TextDecoder().decode(Buffer.concat(parts))) };
}

function tooLong(options: JsonClientOptions): Failure {
  const message = `The ${options.server} ${showUrl(options)} answered more than ${options.maxAnswerBytes} bytes.`;
  return { failure: new MemorydError(options.errorCode, message), refused: null, lost: true, retryAfterMs: null };
}

/** Describes a failure of fetch or JSON without the text that was sent or came back. */
function describeNetworkFailure(error: unknown): string {
  if (error instanceof SyntaxError) return 'answered something that is not JSON';
  const cause = error instanceof Error ? error.cause : undefined;
  const code = typeof cause === 'object' && cause !== null && 'code' in cause ? ` (${String(cause.code)})` : '';
  return `could not be reached${code}`;
}

function refusal(options: JsonClientOptions, { status, headers }: Response): Failure {
  const failure = new MemorydError(options.errorCode, refusalMessage(options, status));
  const isPassing = status === 408 || status === 409 || status === 429 || status >= 500;
  const asked = { retryAfter: headers.get('retry-after'), date: headers.get('date') };
  const retryAfterMs = isPassing ? (readRetryAfter(asked, options.clock.now().getTime()) ?? 0) : null;
  return { failure, refused: status, lost: false, retryAfterMs };
}

function refusalMessage(options: JsonClientOptions, status: number): string {
  const server = `The ${options.server} ${showUrl(options)}`;
  const { apiKeySetting, model, apiKey, path } = options;
  if (status === 401 || status === 403) {
    const remedy = apiKey === undefined ? `Set ${apiKeySetting}.` : `Correct ${apiKeySetting}.`;
    return `${server} refused the API key (HTTP ${status}). ${remedy}`;
  }
  if (status === 404) return `${server} does not know ${path} or the model "${model}" (HTTP 404).`;
  if (status === 429) return `${server} answers that there are too many requests (HTTP 429).`;
  return `${server} answered HTTP ${status} for the model "${model}".`;
}

/** Without a query, which may hold a key. */
function showUrl({ baseUrl }: JsonClientOptions): string {
  const { origin, pathname } = new URL(baseUrl);
  return origin + pathname;
}

/** Without a slash at the end. Throws `config_invalid` for what is no plain http(s) address. */
export function checkBaseUrl(baseUrl: string, server: string): string {
  const url = URL.parse(baseUrl);
  if (!url || !['http:', 'https:'].includes(url.protocol) || url.username !== '' || url.search !== '') {
    const message = `The address of the ${server} must be http(s)://host[/path] without user name or query.`;
    throw new MemorydError('config_invalid', message);
  }
  return url.href.replace(/\/+$/, '');
}
