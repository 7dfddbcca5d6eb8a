import { systemClock, type Clock } from '../../base/clock.ts';
import { MemorydError } from '../../base/errors.ts';
import type { Embedder, EmbedderReport } from '../embedder.ts';
import { measureRelatedness, relatedThreshold } from '../related-texts.ts';
import { checkMeaning, checkShape, checkThroughput } from '../self-test.ts';
import { toUnitLength } from '../vector.ts';
import { checkBaseUrl, createJsonClient } from './json-client.ts';
import { createGate } from '../../base/concurrency.ts';
import { cutToTokens } from '../token-counting.ts';

export interface HttpEmbedderOptions {
  /** The address that ends before `/embeddings`, e.g. `https://api.openai.com/v1`, `http://localhost:11434/v1`. */
  baseUrl: string;
  model: string;
  apiKey?: string;
  /** How the setting that holds the key is called, for messages. Default `MEMORYD_EMBEDDER_API_KEY`. */
  apiKeySetting?: string;
  /** Length of the vectors. Asked of the server at creation when absent. */
  dimensions?: number;
  /** Sends `dimensions` along, for models that can shorten their vectors. Default false. */
  requestDimensions?: boolean;
  /** Texts per request. Default 64. */
  maxInputs?: number;
  /** Tokens of one text; more is cut off by a careful estimate. Default 512. */
  maxTokens?: number;
  /** Measured at creation with a dozen known pairs when absent. */
  relatedAt?: number;
  /** Put before each text, as the model was trained with (`query: `). Default none. */
  prefixes?: { query: string; document: string };
  /** Requests at once. Default 4. */
  concurrency?: number;
  /** For one request. Default 60,000. */
  timeoutMs?: number;
  /** Tries of one request, the first included. Default 4. */
  attempts?: number;
  /** The longest pause between tries; a longer one is left to the caller as `retryAfterMs`. Default 10,000. */
  maxPauseMs?: number;
  clock?: Clock;
  random?: () => number;
}

/** OpenAI takes 300,000 tokens in one request; our estimate is on the high side. */
const maxRequestTokens = 200_000;
/** Several servers refuse an empty input. */
const emptyTextStandIn = '.';

/**
 * An embedder behind any OpenAI-compatible `/embeddings`: OpenAI, Ollama, vLLM, LM Studio.
 *
 * Throws `config_invalid` for a bad address, `embed_failed` when the server has to be asked for
 * what the options leave open and does not answer.
 */
export async function createHttpEmbedder(options: HttpEmbedderOptions): Promise<Embedder> {
  const ask = createAsk(options);
  const dimensions = options.dimensions ?? (await probeDimensions(ask));
  const embedAll = createBatching(options, ask, dimensions);
  const relatedAt = options.relatedAt ?? relatedThreshold(await measureRelatedness(embedAll));
  const closing = new AbortController();
  const id = `openai-compatible:${options.model}:${dimensions}`;

  const embedder: Embedder = {
    ...{ id, dimensions, relatedAt },
    maxTokens: options.maxTokens ?? defaultMaxTokens,
    maxInputs: options.maxInputs ?? defaultMaxInputs,
    embed: (texts, { kind = 'document', signal } = {}) =>
      embedAll(texts, { kind, signal: signal ? AbortSignal.any([signal, closing.signal]) : closing.signal }),
    tokens: { kind: 'estimate' },
    runtime: async () => 'http',
    async verify(): Promise<EmbedderReport> {
      const checks = [await checkShape(embedder)];
      if (checks[0]!.ok) checks.push(await checkMeaning(embedder), await checkThroughput(embedder));
      return { id, runtime: 'http', ok: checks.every((check) => check.ok), checks };
    },
    async close() {
      closing.abort(
        new MemorydError('embed_failed', 'The embedding model is closed: the daemon is shutting down.', {
          retryAfterMs: 1_000,
        }),
      );
    },
  };
  return embedder;
}

const defaultMaxTokens = 512;
const defaultMaxInputs = 64;

/** Vectors of the largest request, written as decimal numbers, with room to spare. */
const maxAnswerBytes = 64 * 1024 * 1024;

/** The vectors of a batch. Throws `embed_failed`. */
type Ask = (inputs: readonly string[], signal: AbortSignal) => Promise<Float32Array[]>;

function createAsk(options: HttpEmbedderOptions): Ask {
  const { model, dimensions } = options;
  const body = {
    encoding_format: 'float',
    ...(options.requestDimensions && dimensions !== undefined && { dimensions }),
  };
  const post = createJsonClient({
    server: 'embedding server',
    baseUrl: checkBaseUrl(options.baseUrl, 'embedding server'),
    path: '/embeddings',
    model,
    apiKey: options.apiKey,
    apiKeySetting: options.apiKeySetting ?? 'MEMORYD_EMBEDDER_API_KEY',
    errorCode: 'embed_failed',
    timeoutMs: options.timeoutMs ?? 60_000,
    attempts: options.attempts ?? 4,
    retriesTimeouts: true,
    maxPauseMs: options.maxPauseMs ?? 10_000,
    maxAnswerBytes,
    clock: options.clock ?? systemClock,
    random: options.random ?? Math.random,
  });
  return async (inputs, signal) => {
    const outcome = await post({ model, input: inputs, ...body }, signal);
    if ('failure' in outcome) throw outcome.failure;
    return readVectors(outcome.answer, inputs.length);
  };
}

async function probeDimensions(ask: Ask): Promise<number> {
  const [vector] = await ask(['dimensions'], new AbortController().signal);
  return vector!.length;
}

/** Cuts texts and calls into requests, and checks what comes back. */
function createBatching(options: HttpEmbedderOptions, ask: Ask, dimensions: number): Embedder['embed'] {
  const gate = createGate(options.concurrency ?? 4);
  const maxTokens = options.maxTokens ?? defaultMaxTokens;
  const maxInputs = options.maxInputs ?? defaultMaxInputs;
  return async (texts, { kind = 'document', signal = new AbortController().signal } = {}) => {
    signal.throwIfAborted();
    const prefix = options.prefixes?.[kind] ?? '';
    const failed = new AbortController();
    const either = AbortSignal.any([signal, failed.signal]);
    const requests = splitBatches(texts, maxInputs, maxTokens).map(async (batch) => {
      const inputs = batch.map((text) => prepareText(prefix + text, maxTokens));
      const vectors = await gate.run(() => ask(inputs, either), { urgent: kind === 'query', signal: either });
      return vectors.map((vector) => checkVector(vector, dimensions, options));
    });
    try {
      return (await Promise.all(requests)).flat();
    } catch (error) {
      failed.abort(error);
      throw error;
    }
  };
}

function splitBatches(texts: readonly string[], maxInputs: number, maxTokens: number): string[][] {
  const size = Math.max(1, Math.min(maxInputs, Math.floor(maxRequestTokens / maxTokens)));
  const batches: string[][] = [];
  for (let start = 0; start < texts.length; start += size) batches.push(texts.slice(start, start + size));
  return batches;
}

/** Without NUL and halves of surrogate pairs, which some servers choke on, and never empty. */
function prepareText(text: string, maxTokens: number): string {
  const prepared = cutToTokens(text, maxTokens).replaceAll('\0', ' ').toWellFormed();
  return prepared.trim() === '' ? emptyTextStandIn : prepared;
}

function checkVector(vector: Float32Array, dimensions: number, options: HttpEmbedderOptions): Float32Array {
  if (vector.length === dimensions) return toUnitLength(vector);
  throw new MemorydError(
    'embed_failed',
    `The model "${options.model}" answered vectors of ${vector.length} dimensions; ${dimensions} are configured or known. ` +
      'Correct the dimensions in the configuration, or ask the server for them if the model can shorten its vectors.',
  );
}

interface EmbeddingsAnswer {
  data: { index?: number; embedding: number[] | string }[];
}

/**
 * Vectors of an OpenAI-compatible `/embeddings` answer in the order of the inputs. Each is a list
 * of numbers or base64 of little-endian 32-bit floats. Throws `embed_failed` when the answer is
 * not one vector per input.
 */
function readVectors(answer: unknown, inputCount: number): Float32Array[] {
  const { data } = requireData(answer);
  if (data.length !== inputCount) {
    throw wrongAnswer(`it holds ${data.length} vectors for ${inputCount} texts`);
  }
  const vectors = new Array<Float32Array | undefined>(inputCount).fill(undefined);
  for (const [position, { index = position, embedding }] of data.entries()) {
    if (!(index in vectors) || vectors[index]) throw wrongAnswer(`the index ${index} is out of range or double`);
    vectors[index] = readVector(embedding);
  }
  return vectors as Float32Array[];
}

function requireData(answer: unknown): EmbeddingsAnswer {
  const data = typeof answer === 'object' && answer !== null && 'data' in answer ? answer.data : undefined;
  if (!Array.isArray(data)) throw wrongAnswer('it has no list `data`');
  return { data: data as EmbeddingsAnswer['data'] };
}

function readVector(embedding: unknown): Float32Array {
  if (typeof embedding === 'string') return readBase64(embedding);
  if (Array.isArray(embedding)) return Float32Array.from(embedding as number[]);
  throw wrongAnswer('an `embedding` is neither a list of numbers nor base64 text');
}

function readBase64(text: string): Float32Array {
  const bytes = Buffer.from(text, 'base64');
  const values = new Float32Array(Math.floor(bytes.byteLength / 4));
  for (let index = 0; index < values.length; index++) values[index] = bytes.readFloatLE(index * 4);
  return values;
}

function wrongAnswer(reason: string): MemorydError {
  return new MemorydError('embed_failed', `The embedding server's answer is not usable: ${reason}.`);
}
