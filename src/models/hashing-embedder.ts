import { systemClock, type Clock } from '../base/clock.ts';
import { MemorydError } from '../base/errors.ts';
import type { Embedder } from './embedder.ts';
import { checkShape, checkThroughput } from './self-test.ts';
import { toUnitLength } from './vector.ts';

export interface HashingOptions {
  /** Default 256. */
  dimensions?: number;
  /** How long each call takes, to stand for a slower model. Default 0. */
  delayMs?: number;
  clock?: Clock;
}

const words = /[\p{L}\p{N}]+/gu;
const maxTokens = 512;

/**
 * No model: a text's words, hashed. Texts that share words are alike, nothing else is. For tests
 * and for benchmarks that must not measure a model; deterministic on every machine.
 */
export function createHashingEmbedder(options: HashingOptions = {}): Embedder {
  const { dimensions = 256, delayMs = 0, clock = systemClock } = options;
  const id = `hashing:${dimensions}`;
  let closed = false;
  const embedder: Embedder = {
    ...{ id, dimensions, maxTokens, maxInputs: 256, relatedAt: 0.3 },
    async embed(texts, { signal } = {}) {
      if (delayMs > 0) await clock.sleep(delayMs, signal);
      signal?.throwIfAborted();
      if (closed) throw new MemorydError('embed_failed', 'The hashing embedder is closed.', { retryAfterMs: 1_000 });
      return texts.map((text) => hashText(text, dimensions));
    },
    tokens: { kind: 'words' },
    runtime: async () => 'hashing',
    async verify() {
      const nature = { name: 'model', ok: true, detail: 'hashed words, no model: for tests and benchmarks only' };
      const checks = [nature, await checkShape(embedder), await checkThroughput(embedder)];
      return { id, runtime: 'hashing', ok: checks.every((check) => check.ok), checks };
    },
    async close() {
      closed = true;
    },
  };
  return embedder;
}

function hashText(text: string, dimensions: number): Float32Array {
  const vector = new Float32Array(dimensions);
  let count = 0;
  for (const [word] of text.matchAll(words)) {
    const hash = hashWord(word.toLowerCase());
    vector[hash % dimensions]! += hash & 0x8000_0000 ? -1 : 1;
    if (++count === maxTokens) break;
  }
  // Without a word, or when signs cancel out, there is no direction: all such texts share one.
  if (vector.every((value) => value === 0)) vector[0] = 1;
  return toUnitLength(vector);
}

/** FNV-1a over UTF-16 units, 32 bits. */
function hashWord(word: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < word.length; index++) hash = Math.imul(hash ^ word.charCodeAt(index), 0x01000193);
  return hash >>> 0;
}
