import type { Embedder } from '../src/models/embedder.ts';
import { createRandom } from './corpus.ts';

/**
 * An embedder that costs nothing, so that only the pipeline is measured: ready-made vectors in turn,
 * and tokens estimated.
 */
export function createTrivialEmbedder(dimensions = 384): Embedder {
  const random = createRandom(11);
  const vectors = Array.from({ length: 256 }, () => unitVector(dimensions, random));
  let turn = 0;
  return {
    id: `trivial:${dimensions}`,
    dimensions,
    maxTokens: 256,
    maxInputs: 1_000,
    relatedAt: 0.3,
    embed: async (texts) => texts.map(() => vectors[turn++ % vectors.length]!),
    tokens: { kind: 'estimate' },
    runtime: async () => 'trivial',
    verify: async () => ({ id: 'trivial', runtime: 'trivial', ok: true, checks: [] }),
    close: async () => {},
  };
}

function unitVector(dimensions: number, random: () => number): Float32Array {
  const vector = Float32Array.from({ length: dimensions }, () => random() - 0.5);
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}
