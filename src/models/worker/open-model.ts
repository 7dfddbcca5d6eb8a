import type { ModelFacts, WorkerSetup } from './messages.ts';
import { openMinilm } from '../minilm/open-minilm.ts';
import { openModelFile } from './open-model-file.ts';
import { loadRuntime } from './runtime.ts';

/** A model that is ready to run. */
export interface OpenModel {
  dimensions: number;
  checks: ModelFacts['checks'];
  /** The pooled vector of one text's token ids, not of unit length. */
  run(sequence: Int32Array): Promise<Float32Array>;
  /** One vector for each token id, one after another, not of unit length; absent when the model tells none. */
  tokens?(sequence: Int32Array): Promise<Float32Array>;
  release(): Promise<void>;
}

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
    dimensions: model.dimensions,
    checks: model.checks,
    loadMs: Math.round(performance.now() - startedAt),
  };
  return { ...model, facts };
}
