import { MemorydError } from '../../base/errors.ts';
import { dotProduct } from '../vector.ts';
import type { OpenModel } from './open-model.ts';

type TokenModel = Pick<OpenModel, 'dimensions' | 'tokens'>;

/**
 * How close a query is to each text: for each token of the query the cosine to the token of the text that
 * is nearest to it, and the mean of these ("MaxSim", Khattab and Zaharia, https://arxiv.org/abs/2004.12832).
 */
export async function lateInteraction(
  model: TokenModel,
  query: Int32Array,
  sequences: readonly Int32Array[],
): Promise<Float32Array<ArrayBuffer>> {
  const asked = await tokenVectors(model, query);
  const scores = new Float32Array(sequences.length);
  for (const [index, sequence] of sequences.entries()) {
    scores[index] = meanOfNearest(asked, await tokenVectors(model, sequence));
  }
  return scores;
}

/** Of unit length; without the start and the end token, which are near to each other in any two texts. */
async function tokenVectors({ tokens, dimensions }: TokenModel, sequence: Int32Array): Promise<Float32Array[]> {
  if (!tokens) throw new MemorydError('embed_failed', 'The model tells no vectors of tokens.');
  const values = await tokens(sequence);
  return Array.from({ length: sequence.length - 2 }, (_, index) =>
    unit(values.subarray((index + 1) * dimensions, (index + 2) * dimensions)),
  );
}

function unit(vector: Float32Array): Float32Array {
  const squared = dotProduct(vector, vector);
  const scale = squared > 0 ? 1 / Math.sqrt(squared) : 0;
  return vector.map((value) => value * scale);
}

function meanOfNearest(asked: readonly Float32Array[], told: readonly Float32Array[]): number {
  if (asked.length === 0 || told.length === 0) return 0;
  let sum = 0;
  for (const one of asked) {
    let nearest = -1;
    for (const other of told) nearest = Math.max(nearest, dotProduct(one, other));
    sum += nearest;
  }
  return sum / asked.length;
}
