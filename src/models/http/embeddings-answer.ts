import { MemorydError } from '../../base/errors.ts';

interface EmbeddingsAnswer {
  data: { index?: number; embedding: number[] | string }[];
}

/**
 * Vectors of an OpenAI-compatible `/embeddings` answer in the order of the inputs. Each is a list
 * of numbers or base64 of little-endian 32-bit floats. Throws `embed_failed` when the answer is
 * not one vector per input.
 */
export function readVectors(answer: unknown, inputCount: number): Float32Array[] {
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
