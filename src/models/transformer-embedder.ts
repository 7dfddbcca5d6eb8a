import { availableParallelism } from 'node:os';
import { MemorydError } from '../base/errors.ts';
import { comparisonOf } from './comparison.ts';
import type { Embedder, EmbedderReport } from './embedder.ts';
import type { Reranker } from './reranker.ts';
import { checkMeaning, checkShape, checkThroughput, runCheck, type SelfCheck } from './self-test.ts';
import type { Tokenizer } from './tokenizer.ts';
import { toUnitLength } from './vector.ts';
import type { CallKind } from './worker/call-queue.ts';
import type { RuntimeChoice, WorkerSetup } from './worker/messages.ts';
import { createWorkerPool, type WorkerPool } from './worker/worker-pool.ts';

/** Options of both local embedders about the threads that compute. */
export interface LocalModelOptions {
  /**
   * Worker threads at the most, each with the model in its memory and busy on one text at a time.
   * Default: one per processor, at most 4. The first starts with the first use, more when texts wait.
   */
  threads?: number;
  /** Default `auto`: onnxruntime-node when it is installed, else onnxruntime-web. */
  runtime?: RuntimeChoice;
}

export interface TransformerOptions extends LocalModelOptions {
  source: WorkerSetup['source'];
  /** Called once, at the first use. */
  loadTokenizer(): Tokenizer;
  /** Tokens of a text that are read, without the start and end tokens. */
  maxTokens: number;
  /** Put before each text, as in the model's training. */
  prefixes?: Record<CallKind, string>;
}

/** A tokenizer in this thread and a model in others. */
export interface Transformer extends Pick<Embedder, 'maxTokens' | 'embed' | 'close'> {
  readonly threads: number;
  facts: WorkerPool['facts'];
  /** Needs a model that tells the vectors of its tokens. */
  compare: Reranker['score'];
}

const maxDefaultThreads = 4;
const maxInputs = 64;

/** Nothing is read or started before the first use. Throws `config_invalid` for a wrong number of threads. */
export function createTransformer(options: TransformerOptions): Transformer {
  const { source, maxTokens, runtime = 'auto', prefixes = { query: '', document: '' } } = options;
  const threads = checkThreads(options.threads ?? Math.min(availableParallelism(), maxDefaultThreads));
  let loaded: Tokenizer | null = null;
  const tokenizer = (): Tokenizer => (loaded ??= options.loadTokenizer());
  const pool = createWorkerPool({
    setup: { source, runtime },
    threads,
    encode: (text, kind) => frameTokens(tokenizer(), prefixes[kind] + text, maxTokens),
  });
  return {
    ...{ threads, maxTokens },
    async embed(texts, { kind = 'document', signal } = {}) {
      tokenizer();
      const vectors = await pool.embed(texts, { kind, signal });
      return vectors.map(toUnitLength);
    },
    async compare(query, texts, signal) {
      return pool.compare(comparisonOf(tokenizer(), query, { texts, maxTokens }), signal);
    },
    facts: () => pool.facts(),
    close: () => pool.close(),
  };
}

function checkThreads(threads: number): number {
  if (Number.isInteger(threads) && threads >= 1) return threads;
  throw new MemorydError('config_invalid', `The number of model threads must be 1 or more, not ${threads}.`);
}

/** Token ids as the model takes them: the text's, cut, between those that frame it. */
export function frameTokens({ start, end, encode }: Tokenizer, text: string, maxTokens: number): Int32Array {
  return Int32Array.of(...start, ...encode(text, maxTokens), ...end);
}

export interface TransformerEmbedderOptions extends Pick<
  Embedder,
  'id' | 'dimensions' | 'relatedAt' | 'reranker' | 'tokens'
> {
  transformer: Transformer;
  /** Checks of its own, which `verify` runs first. */
  checkFiles(): Promise<SelfCheck[]>;
}

export function createTransformerEmbedder(options: TransformerEmbedderOptions): Embedder {
  const { transformer, id, dimensions, relatedAt, reranker, tokens, checkFiles } = options;
  const { maxTokens, embed, close } = transformer;
  const embedder: Embedder = {
    ...{ id, dimensions, relatedAt, tokens, maxTokens, maxInputs, embed, close },
    reranker,
    runtime: async () => (await transformer.facts()).runtime,
    async verify(): Promise<EmbedderReport> {
      const checks = [...(await checkFiles()), ...(await checkOpening(transformer))];
      if (checks.every((check) => check.ok)) {
        checks.push(await checkShape(embedder), await checkMeaning(embedder), await checkThroughput(embedder));
      }
      const runtime = await embedder.runtime().catch(() => 'none');
      return { id, runtime, ok: checks.every((check) => check.ok), checks };
    },
  };
  return embedder;
}

async function checkOpening(transformer: Transformer): Promise<SelfCheck[]> {
  let checks: SelfCheck[] = [];
  const runtime = await runCheck('runtime', async () => {
    const facts = await transformer.facts();
    checks = facts.checks;
    const detail = `${facts.runtime} ${facts.runtimeVersion}, at most ${transformer.threads} threads, opened in ${facts.loadMs} ms${facts.instead === null ? '' : `, because of ${facts.instead}`}`;
    return { ok: true, detail };
  });
  return [runtime, ...checks];
}
