import type { Clock } from '../../base/clock.ts';
import { MemorydError } from '../../base/errors.ts';
import { readVectors } from './embeddings-answer.ts';
import { readRetryAfter } from './retry-after.ts';

export interface EmbeddingsClientOptions {
  /** The address that `/embeddings` is appended to. */
  baseUrl: string;
  model: string;
  apiKey: string | undefined;
  /** How the setting that holds the key is called, for messages. */
  apiKeySetting: string;
  /** Further fields of each request's body. */
  body: Record<string, unknown>;
  timeoutMs: number;
  /** The first one included. */
  attempts: number;
  /** Longer pauses are left to the caller, as `retryAfterMs`. */
  maxPauseMs: number;
  clock: Clock;
  /** 0 to below 1, for jitter. */
  random: () => number;
}

/** Asks an OpenAI-compatible server for the vectors of a batch. Throws `embed_failed`. */
export type EmbeddingsClient = (inputs: readonly string[], signal: AbortSignal) => Promise<Float32Array[]>;

const firstPauseMs = 500;
const maxBackoffMs = 60_000;

export function createEmbeddingsClient(options: EmbeddingsClientOptions): EmbeddingsClient {
  const { clock, attempts, maxPauseMs, random } = options;
  return async (inputs, signal) => {
    for (let attempt = 1; ; attempt++) {
      const outcome = await attemptRequest(options, inputs, signal);
      if ('answer' in outcome) return readVectors(outcome.answer, inputs.length);
      if (!outcome.retriable) throw outcome.error;
      const pauseMs = Math.max(outcome.retryAfterMs, backoffMs(attempt, random));
      if (attempt >= attempts || pauseMs > maxPauseMs) throw withRetryAfter(outcome.error, pauseMs);
      await clock.sleep(pauseMs, signal);
      signal.throwIfAborted();
    }
  };
}

type Outcome =
  | { answer: unknown }
  | { error: MemorydError; retriable: false }
  | { error: MemorydError; retriable: true; retryAfterMs: number };

/** Half of the pause is fixed, half is chance, so that many clients do not come back together. */
function backoffMs(attempt: number, random: () => number): number {
  const pauseMs = Math.min(firstPauseMs * 2 ** (attempt - 1), maxBackoffMs);
  return Math.round(pauseMs / 2 + (random() * pauseMs) / 2);
}

function withRetryAfter(error: MemorydError, retryAfterMs: number): MemorydError {
  return new MemorydError(error.code, error.message, { cause: error.cause, retryAfterMs });
}

async function attemptRequest(
  options: EmbeddingsClientOptions,
  inputs: readonly string[],
  signal: AbortSignal,
): Promise<Outcome> {
  const timeout = AbortSignal.timeout(options.timeoutMs);
  try {
    const response = await send(options, inputs, AbortSignal.any([signal, timeout]));
    if (response.ok) return { answer: await response.json() };
    await response.body?.cancel();
    return refusal(options, response);
  } catch (cause) {
    signal.throwIfAborted();
    const reason = timeout.aborted ? `did not answer within ${options.timeoutMs} ms` : describeNetworkFailure(cause);
    const error = new MemorydError('embed_failed', `The embedding server ${showUrl(options)} ${reason}.`, { cause });
    return { error, retriable: true, retryAfterMs: 0 };
  }
}

function send(options: EmbeddingsClientOptions, input: readonly string[], signal: AbortSignal): Promise<Response> {
  const { baseUrl, model, apiKey, body } = options;
  return fetch(`${baseUrl}/embeddings`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
    },
    body: JSON.stringify({ model, input, ...body }),
    signal,
  });
}

/** What fetch and JSON say, without the text that was sent or came back. */
function describeNetworkFailure(error: unknown): string {
  if (error instanceof SyntaxError) return 'answered something that is not JSON';
  const cause = error instanceof Error ? error.cause : undefined;
  const code = typeof cause === 'object' && cause !== null && 'code' in cause ? ` (${String(cause.code)})` : '';
  return `could not be reached${code}`;
}

function refusal(options: EmbeddingsClientOptions, response: Response): Outcome {
  const { status, headers } = response;
  const error = new MemorydError('embed_failed', refusalMessage(options, status));
  if (status !== 408 && status !== 409 && status !== 429 && status < 500) return { error, retriable: false };
  const retryAfterMs = readRetryAfter(headers.get('retry-after'), options.clock.now()) ?? 0;
  return { error, retriable: true, retryAfterMs };
}

function refusalMessage(options: EmbeddingsClientOptions, status: number): string {
  const server = `The embedding server ${showUrl(options)}`;
  const { apiKeySetting, model, apiKey } = options;
  if (status === 401 || status === 403) {
    const remedy = apiKey === undefined ? `Set ${apiKeySetting}.` : `Correct ${apiKeySetting}.`;
    return `${server} refused the API key (HTTP ${status}). ${remedy}`;
  }
  if (status === 404) return `${server} does not know /embeddings or the model "${model}" (HTTP 404).`;
  if (status === 429) return `${server} answers that there are too many requests (HTTP 429).`;
  return `${server} answered HTTP ${status} for the model "${model}".`;
}

/** Without a query, which may hold a key. */
function showUrl({ baseUrl }: EmbeddingsClientOptions): string {
  const { origin, pathname } = new URL(baseUrl);
  return origin + pathname;
}
