import type { InferenceSession, Tensor } from 'onnxruntime-web';
import { MemorydError } from '../../base/errors.ts';
import type { ModelFacts, RuntimeChoice } from './messages.ts';
import { importNative } from './native-runtime.ts';

/** One of the two libraries that run ONNX models, behind what this program needs of them. */
export interface InferenceRuntime {
  readonly name: ModelFacts['runtime'];
  readonly version: string;
  /** Why another one, which was preferred, could not be loaded; null: none was. */
  readonly instead: string | null;
  /** Opens the bytes of a model or a file. `optimize` lets the library rewrite the graph. */
  open(model: Uint8Array | string, options: { optimize: boolean }): Promise<InferenceSession>;
  tensor(type: 'int32' | 'int64', values: Int32Array, shape: readonly number[]): Tensor;
  floats(values: Float32Array, shape: readonly number[]): Tensor;
}

/** For each token of a question, without those that frame it, the cosine to the token of a text that is nearest to it. */
export type NearestTokens = (text: Int32Array) => Promise<Float32Array>;

/** A model that is ready to run. */
export interface OpenModel {
  dimensions: number;
  checks: ModelFacts['checks'];
  /** The pooled vector of one text's token ids, not of unit length. */
  run(sequence: Int32Array): Promise<Float32Array>;
  /** Reads the token ids of a question, which texts can then be compared with; absent when the model cannot. */
  ask?(question: Int32Array): Promise<NearestTokens>;
  release(): Promise<void>;
}

/** The interface of onnxruntime-common, which both libraries export. */
type OnnxRuntime = Pick<typeof import('onnxruntime-web'), 'InferenceSession' | 'Tensor' | 'env'>;

const severityFatal = 4;

/** Throws `model_unavailable` when the library, or with `auto` both, cannot be loaded. */
export async function loadRuntime(choice: RuntimeChoice): Promise<InferenceRuntime> {
  const names = choice === 'auto' ? (['onnxruntime-node', 'onnxruntime-web'] as const) : [choice];
  const reasons: string[] = [];
  for (const name of names) {
    try {
      return createRuntime(name, await importRuntime(name), reasons[0] ?? null);
    } catch (error) {
      reasons.push(`${name}: ${error instanceof Error ? error.message.split('\n')[0] : 'unknown failure'}`);
    }
  }
  const message = `No library that runs models can be loaded. Run \`npm ci\` to restore ${names.join(' or ')}.`;
  throw new MemorydError('model_unavailable', message, { details: reasons.join('; ') });
}

async function importRuntime(name: ModelFacts['runtime']): Promise<OnnxRuntime> {
  if (name === 'onnxruntime-node') return importNative();
  const runtime = await import('onnxruntime-web');
  runtime.env.wasm.numThreads = 1;
  return runtime;
}

/** One thread per session: several workers serve several texts at once, without waiting for each other. */
function createRuntime(
  name: ModelFacts['runtime'],
  { InferenceSession, Tensor, env }: OnnxRuntime,
  instead: string | null,
): InferenceRuntime {
  return {
    name,
    version: env.versions.common,
    instead,
    open: (model, { optimize }) =>
      InferenceSession.create(model as Uint8Array, {
        intraOpNumThreads: 1,
        interOpNumThreads: 1,
        graphOptimizationLevel: optimize ? 'all' : 'basic',
        // A memory plan would be kept for every length of text.
        enableMemPattern: false,
        logSeverityLevel: severityFatal,
      }),
    tensor: (type, values, shape) =>
      type === 'int32'
        ? new Tensor('int32', values, shape)
        : new Tensor('int64', BigInt64Array.from(values, BigInt), shape),
    floats: (values, shape) => new Tensor('float32', values, shape),
  };
}
