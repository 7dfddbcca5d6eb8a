import { readFile } from 'node:fs/promises';
import type { InferenceSession, Tensor } from 'onnxruntime-web';
import type { ModelFacts, WorkerSetup, ModelSource, Pooling } from './messages.ts';
import { openMinilm } from '../minilm/open-minilm.ts';
import { loadRuntime, type InferenceRuntime, type OpenModel } from './runtime.ts';
import { MemorydError } from '../../base/errors.ts';

/** Throws `model_unavailable` when files or libraries are missing, or the model fails its test. */
export async function openModel({ source, runtime: choice }: WorkerSetup): Promise<OpenModel & { facts: ModelFacts }> {
  const startedAt = performance.now();
  const runtime = await loadRuntime(choice);
  const model =
    source.kind === 'minilm'
      ? await openMinilm(source.folder, source.arithmetic, runtime)
      : await openModelFile(source, runtime);
  const facts: ModelFacts = {
    runtime: runtime.name,
    runtimeVersion: runtime.version,
    instead: runtime.instead,
    dimensions: model.dimensions,
    checks: model.checks,
    loadMs: Math.round(performance.now() - startedAt),
  };
  return { ...model, facts };
}

/** Outputs that hold one vector per text already, as sentence-transformers and optimum export them. */
const pooledOutputs = ['sentence_embedding'];
const tokenOutputs = ['last_hidden_state', 'token_embeddings'];
const inputNames = ['input_ids', 'attention_mask', 'token_type_ids'] as const;

/** Opens an ONNX file of a text encoder. Throws `model_unavailable` when it is not one. */
async function openModelFile(
  { path, pooling, pooledOnly }: Extract<ModelSource, { kind: 'file' }>,
  runtime: InferenceRuntime,
): Promise<OpenModel> {
  // The native library maps the file itself and finds weights that lie beside it.
  const model = runtime.name === 'onnxruntime-node' ? path : await readFile(path);
  const session = await openSession(model, path, runtime);
  const inputs = describeInputs(session, path);
  const output = chooseOutput(session, path, pooledOnly);
  const run = async (sequence: Int32Array): Promise<Float32Array> => {
    const feeds = inputs.map(({ name, type, value }) => {
      const values = value === 'ids' ? sequence : new Int32Array(sequence.length).fill(value);
      return [name, runtime.tensor(type, values, [1, sequence.length])] as const;
    });
    const results = await session.run(Object.fromEntries(feeds), [output]);
    return pool(results[output]!, pooling);
  };
  return {
    dimensions: (await run(Int32Array.of(1, 2))).length,
    checks: [{ name: 'model', ok: true, detail: `${path}, output "${output}", ${pooling} pooling` }],
    run,
    release: () => session.release(),
  };
}

async function openSession(
  model: Uint8Array | string,
  path: string,
  runtime: InferenceRuntime,
): Promise<InferenceSession> {
  try {
    return await runtime.open(model, { optimize: true });
  } catch (cause) {
    const details = cause instanceof Error ? cause.message : '';
    throw new MemorydError('model_unavailable', `${path} cannot be opened as an ONNX model.`, { cause, details });
  }
}

interface InputDescription {
  name: string;
  type: 'int32' | 'int64';
  /** The token ids, or one number for every token: attention 1 (nothing is padded), token type 0. */
  value: 'ids' | 0 | 1;
}

function describeInputs(session: InferenceSession, path: string): InputDescription[] {
  return session.inputMetadata.map((input) => {
    const known = inputNames.find((name) => name === input.name);
    const type = input.isTensor ? input.type : 'none';
    if (known && (type === 'int32' || type === 'int64')) {
      return { name: input.name, type, value: known === 'input_ids' ? 'ids' : known === 'attention_mask' ? 1 : 0 };
    }
    const message = `${path} asks for an input "${input.name}" of type ${type}; a text encoder takes ${inputNames.join(', ')}.`;
    throw new MemorydError('model_unavailable', message);
  });
}

function chooseOutput({ outputNames }: InferenceSession, path: string, pooledOnly: boolean): string {
  const wanted = pooledOnly ? pooledOutputs : [...pooledOutputs, ...tokenOutputs];
  const output = wanted.find((name) => outputNames.includes(name));
  if (output !== undefined) return output;
  const message = `${path} has the outputs ${outputNames.join(', ')}; one of ${wanted.join(', ')} is needed.`;
  throw new MemorydError('model_unavailable', message);
}

/** [1, dimensions] is pooled already, [1, tokens, dimensions] is pooled here. */
function pool(output: Tensor, pooling: Pooling): Float32Array {
  const [dimensions, tokens] = [output.dims.at(-1)!, output.dims.length === 3 ? output.dims[1]! : 1];
  if (!(output.data instanceof Float32Array) || output.dims.length < 2 || output.dims.length > 3) {
    const shape = `${output.type} [${output.dims.join(', ')}]`;
    throw new MemorydError('model_unavailable', `The model answers ${shape}, not float32 vectors per text or token.`);
  }
  if (tokens === 1 || pooling === 'cls') return output.data.slice(0, dimensions);
  return meanOfRows(output.data, tokens, dimensions);
}

function meanOfRows(values: Float32Array, rows: number, columns: number): Float32Array {
  const mean = new Float32Array(columns);
  for (let index = 0; index < values.length; index++) mean[index % columns]! += values[index]! / rows;
  return mean;
}
