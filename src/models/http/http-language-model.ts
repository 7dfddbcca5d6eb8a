import { systemClock, type Clock } from '../../base/clock.ts';
import { MemorydError } from '../../base/errors.ts';
import type { Completion, LanguageModel, Prompt } from '../language-model.ts';
import { checkBaseUrl, createJsonClient, type JsonClient } from './json-client.ts';
import { createGate } from '../../base/concurrency.ts';
import { estimateTokens } from '../token-counting.ts';

export interface HttpLanguageModelOptions {
  /** The address that ends before `/chat/completions`, e.g. `https://api.openai.com/v1`, `http://localhost:11434/v1`. */
  baseUrl: string;
  model: string;
  apiKey?: string;
  /** Requests at once. Default 2. */
  concurrency?: number;
  /** For one request. Default 120,000. */
  timeoutMs?: number;
  /** Tries of one request, the first included. Default 4. */
  attempts?: number;
  /** The longest pause between tries; with a longer one the request fails. Default 10,000. */
  maxPauseMs?: number;
  /** A longer answer is an error. Default 1 MiB. */
  maxAnswerBytes?: number;
  clock?: Clock;
  random?: () => number;
}

/** How a request is put. Endpoints refuse what they do not know: the first one that is answered is kept. */
interface Dialect {
  format: 'json_schema' | 'json_object' | 'none';
  /** Models that reason refuse a temperature and `max_tokens`. */
  reasons: boolean;
}

const dialects: readonly Dialect[] = [
  { format: 'json_schema', reasons: false },
  { format: 'json_schema', reasons: true },
  { format: 'json_object', reasons: false },
  { format: 'json_object', reasons: true },
  { format: 'none', reasons: false },
  { format: 'none', reasons: true },
];

/** Statuses of a request that the endpoint does not understand. */
const notUnderstood = [400, 415, 422, 501];

/**
 * A language model behind any OpenAI-compatible `/chat/completions`: OpenAI, Ollama, vLLM, llama.cpp, LM Studio.
 * Throws `config_invalid` for a bad address; asks nothing until `complete`.
 */
export function createHttpLanguageModel(options: HttpLanguageModelOptions): LanguageModel {
  const post = createPost(options);
  const gate = createGate(options.concurrency ?? 2);
  const closing = new AbortController();
  let known: Dialect | null = null;

  async function complete(prompt: Prompt, signal: AbortSignal): Promise<Completion> {
    let first: Completion | null = null;
    for (const dialect of known ? [known] : dialects) {
      const outcome = await post(bodyOf(prompt, options.model, dialect), signal);
      if ('answer' in outcome) {
        known = dialect;
        return readCompletion(outcome.answer, prompt);
      }
      const { failure, refused, lost } = outcome;
      first ??= { failure, lost };
      if (refused === null || !notUnderstood.includes(refused)) return { failure, lost };
    }
    return first!;
  }

  return {
    id: `openai-compatible:${options.model}`,
    complete: (prompt, { kind, signal }) => {
      const either = AbortSignal.any([signal, closing.signal]);
      return gate.run(() => complete(prompt, either), { urgent: kind === 'query', signal: either });
    },
    estimateTokens,
    async close() {
      closing.abort(
        new MemorydError('language_model_failed', 'The language model is closed: the daemon is shutting down.'),
      );
    },
  };
}

function createPost(options: HttpLanguageModelOptions): JsonClient {
  return createJsonClient({
    server: 'language model server',
    baseUrl: checkBaseUrl(options.baseUrl, 'language model server'),
    path: '/chat/completions',
    model: options.model,
    apiKey: options.apiKey,
    apiKeySetting: 'MEMORYD_LLM_API_KEY',
    errorCode: 'language_model_failed',
    timeoutMs: options.timeoutMs ?? 120_000,
    attempts: options.attempts ?? 4,
    // A model that was too slow once is too slow again, and may be paid for each time.
    retriesTimeouts: false,
    maxPauseMs: options.maxPauseMs ?? 10_000,
    maxAnswerBytes: options.maxAnswerBytes ?? 1024 * 1024,
    clock: options.clock ?? systemClock,
    random: options.random ?? Math.random,
  });
}

function bodyOf({ name, instructions, content, schema, maxAnswerTokens }: Prompt, model: string, dialect: Dialect) {
  const shape =
    dialect.format === 'json_schema'
      ? ''
      : `\n\nAnswer with one JSON object and nothing else. It matches this JSON Schema:\n${JSON.stringify(schema)}`;
  return {
    model,
    messages: [
      { role: 'system', content: instructions + shape },
      // Some servers choke on NUL and on halves of surrogate pairs.
      { role: 'user', content: content.replaceAll('\0', ' ').toWellFormed() },
    ],
    stream: false,
    ...(dialect.reasons ? { max_completion_tokens: maxAnswerTokens } : { temperature: 0, max_tokens: maxAnswerTokens }),
    ...(dialect.format === 'json_schema' && {
      response_format: { type: 'json_schema', json_schema: { name, strict: true, schema } },
    }),
    ...(dialect.format === 'json_object' && { response_format: { type: 'json_object' } }),
  };
}

interface ChatAnswer {
  choices?: { message?: { content?: unknown } }[];
  usage?: { total_tokens?: unknown };
}

/** An answer without text is an empty one, which no schema matches. */
function readCompletion(answer: unknown, prompt: Prompt): Completion {
  const { choices, usage } = (answer ?? {}) as ChatAnswer;
  const content = Array.isArray(choices) ? choices[0]?.message?.content : undefined;
  const text = typeof content === 'string' ? content : '';
  const used = usage?.total_tokens;
  const isCount = typeof used === 'number' && Number.isFinite(used) && used >= 0;
  const tokens = isCount ? Math.ceil(used) : estimateTokens(prompt.instructions + prompt.content + text);
  return { text, tokens };
}
