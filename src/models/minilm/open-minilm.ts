import type { InferenceSession, Tensor } from 'onnxruntime-web';
import { MemorydError } from '../../base/errors.ts';
import { encodeModel } from '../onnx/model-bytes.ts';
import { cosine } from '../vector.ts';
import type { InferenceRuntime, OpenModel } from '../worker/runtime.ts';
import { readModelFile } from './files.ts';
import { buildComparingGraph, buildMinilmGraph, hiddenSize, type Arithmetic } from './graph.ts';
import { referenceSentences } from './reference.ts';
import { readWeights } from './weights.ts';

/**
 * Quantized activations bring cosines of about 0.995 to the exact vectors; a processor that
 * saturates falls far below.
 */
const requiredCosine = 0.985;

/**
 * Converts the model in memory and opens it with the first arithmetic that reproduces the
 * reference vectors. Throws `model_unavailable` when none does.
 */
export async function openMinilm(
  folder: string,
  arithmetic: readonly Arithmetic[],
  runtime: InferenceRuntime,
): Promise<OpenModel> {
  const failures: string[] = [];
  for (const candidate of arithmetic) {
    const model = await open(folder, candidate, runtime);
    const cosines = await compareWithReference(model);
    const detail = `${candidate}: cosines to the exact vectors ${cosines.map((value) => value.toFixed(4)).join(', ')}`;
    if (Math.min(...cosines) >= requiredCosine) return { ...model, checks: [{ name: 'self-test', ok: true, detail }] };
    await model.release();
    failures.push(detail);
  }
  const message = 'The model does not reproduce its reference vectors on this processor.';
  throw new MemorydError('model_unavailable', message, { details: failures.join('; ') });
}

async function open(folder: string, arithmetic: Arithmetic, runtime: InferenceRuntime): Promise<OpenModel> {
  const session = await openGraph(buildMinilmGraph);
  // It takes memory of its own, and most searches compare no tokens.
  let comparing: Promise<InferenceSession> | null = null;
  return {
    dimensions: hiddenSize,
    checks: [],
    async run(sequence) {
      const results = await session.run({ input_ids: tokensOf(sequence) });
      return results['sentence_embedding']!.data as Float32Array;
    },
    async ask(question) {
      const opened = await (comparing ??= openGraph(buildComparingGraph));
      const nothing = runtime.floats(new Float32Array(hiddenSize), [1, 1, hiddenSize]);
      const asked = await compare(opened, question, nothing);
      return async (text) => (await compare(opened, text, asked['token_embeddings']!))['nearest']!.data as Float32Array;
    },
    release: async () => {
      await session.release();
      await (await comparing)?.release();
    },
  };

  async function openGraph(build: typeof buildMinilmGraph): Promise<InferenceSession> {
    const bytes = convert(folder, arithmetic, build);
    const opened = await runtime.open(bytes, { optimize: false });
    freeNow(bytes);
    return opened;
  }

  function compare(opened: InferenceSession, text: Int32Array, question: Tensor) {
    return opened.run({ input_ids: tokensOf(text), question });
  }

  function tokensOf(sequence: Int32Array): Tensor {
    return runtime.tensor('int32', sequence, [1, sequence.length]);
  }
}

function convert(folder: string, arithmetic: Arithmetic, build: typeof buildMinilmGraph): Uint8Array {
  const data = readModelFile(folder, 'weights');
  const weights = readWeights(readModelFile(folder, 'graph').toString('utf8'), data);
  const bytes = encodeModel(build(weights, arithmetic));
  freeNow(data);
  return bytes;
}

/** Cosines between what the model answers and the first components of the exact vectors. */
export async function compareWithReference(model: Pick<OpenModel, 'run'>): Promise<number[]> {
  const cosines: number[] = [];
  for (const { tokenIds, vectorStart } of referenceSentences) {
    const vector = await model.run(Int32Array.from(tokenIds));
    cosines.push(cosine(vector.subarray(0, vectorStart.length), vectorStart));
  }
  return cosines;
}

/** Gives the memory back at once: a worker makes so little garbage that collection may not happen for hours. */
function freeNow(bytes: Uint8Array): void {
  (bytes.buffer as ArrayBuffer).transfer(0);
}
