import type { InferenceSession } from 'onnxruntime-web';
import { MemorydError } from '../../base/errors.ts';
import { encodeModel } from '../onnx/model-bytes.ts';
import { cosine } from '../vector.ts';
import type { InferenceRuntime, OpenModel } from '../worker/runtime.ts';
import { readModelFile } from './files.ts';
import { buildMinilmGraph, hiddenSize, type Arithmetic } from './graph.ts';
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
  const session = await openGraph('sentence');
  // It takes memory of its own, and most searches compare no tokens.
  let comparing: Promise<InferenceSession> | null = null;
  return {
    dimensions: hiddenSize,
    checks: [],
    run: (sequence) => answer(session, sequence),
    tokens: async (sequence) => answer(await (comparing ??= openGraph('tokens')), sequence),
    release: async () => {
      await session.release();
      await (await comparing)?.release();
    },
  };

  async function openGraph(wanted: 'sentence' | 'tokens'): Promise<InferenceSession> {
    const bytes = convert(folder, arithmetic, wanted);
    const opened = await runtime.open(bytes, { optimize: false });
    freeNow(bytes);
    return opened;
  }

  async function answer(model: InferenceSession, sequence: Int32Array): Promise<Float32Array> {
    const results = await model.run({ input_ids: runtime.tensor('int32', sequence, [1, sequence.length]) });
    return results[model.outputNames[0]!]!.data as Float32Array;
  }
}

function convert(folder: string, arithmetic: Arithmetic, wanted: 'sentence' | 'tokens'): Uint8Array {
  const data = readModelFile(folder, 'weights');
  const weights = readWeights(readModelFile(folder, 'graph').toString('utf8'), data);
  const bytes = encodeModel(buildMinilmGraph(weights, arithmetic, wanted));
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
