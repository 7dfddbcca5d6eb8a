import { createHash } from 'node:crypto';
import type { Embedder } from '../../src/models/embedder.ts';

/** Vectors of the words a text has: equal words are near, and nothing else is. Needs no model. */
export function createWordEmbedder(dimensions = 64): Embedder {
  const embedOne = (text: string) => {
    const vector = new Float32Array(dimensions);
    for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? ['']) {
      const place = createHash('sha256').update(word).digest().readUInt32LE() % dimensions;
      vector[place]! += 1;
    }
    const length = Math.hypot(...vector);
    return vector.map((value) => value / length);
  };
  return {
    id: 'words',
    dimensions,
    maxTokens: 256,
    maxInputs: 1_000,
    relatedAt: 0.5,
    runtime: 'hashing',
    embed: async (texts) => texts.map(embedOne),
    countTokens: (text) => text.split(/\s+/).length,
    verify: async () => ({ id: 'words', runtime: 'hashing', ok: true, checks: [] }),
    close: async () => {},
  } as Embedder;
}
