import { MemorydError } from '../base/errors.ts';

/** Scales a vector to length 1, in place. Throws `embed_failed` for one that has no direction. */
export function toUnitLength(vector: Float32Array): Float32Array {
  const length = Math.sqrt(dotProduct(vector, vector));
  if (!(length > 0 && length < Infinity)) {
    throw new MemorydError('embed_failed', 'The model answered a vector that is zero or not made of numbers.');
  }
  for (let index = 0; index < vector.length; index++) vector[index]! /= length;
  return vector;
}

/** The cosine similarity of two vectors of unit length. */
export function dotProduct(left: ArrayLike<number>, right: ArrayLike<number>): number {
  let sum = 0;
  for (let index = 0; index < left.length; index++) sum += left[index]! * right[index]!;
  return sum;
}

/** The cosine similarity of two vectors of any length. */
export function cosine(left: ArrayLike<number>, right: ArrayLike<number>): number {
  return dotProduct(left, right) / Math.sqrt(dotProduct(left, left) * dotProduct(right, right));
}
