import { parentPort, workerData } from 'node:worker_threads';
import type { NearestTokens, OpenModel } from './runtime.ts';
import { MemorydError } from '../../base/errors.ts';
import { collectAtRest, stepBack } from '../../base/concurrency.ts';
import type { Question } from '../comparison.ts';
import type { WorkerReply, WorkerRequest, WorkerSetup } from './messages.ts';
import { openModel } from './open-model.ts';
import { dotProduct } from '../vector.ts';

type RunRequest = Extract<WorkerRequest, { type: 'run' }>;

/** Entry of the thread that runs a model; the protocol is in messages.ts. */
const port = parentPort!;

/** Tokens that frame a text: a start and an end. */
const framing = 2;

function reply(message: WorkerReply, transfer: ArrayBuffer[] = []): void {
  port.postMessage(message, transfer);
}

async function run(model: OpenModel, sequences: readonly Int32Array[]): Promise<Float32Array<ArrayBuffer>> {
  const values = new Float32Array(sequences.length * model.dimensions);
  for (const [index, sequence] of sequences.entries()) {
    values.set(await model.run(sequence), index * model.dimensions);
  }
  return values;
}

async function answer(model: OpenModel, { sequences, question }: RunRequest): Promise<void> {
  const values =
    question === undefined ? await run(model, sequences) : await lateInteraction(model, question, sequences);
  reply({ type: 'vectors', values }, [values.buffer]);
}

async function close(model: OpenModel): Promise<void> {
  await model.release();
  port.close();
}

stepBack();
try {
  const model = await openModel(workerData as WorkerSetup);
  let last: Promise<void> = Promise.resolve();
  port.on('message', (request: WorkerRequest) => {
    // One after another: the model must not be released while it runs.
    last = last.then(() => (request.type === 'run' ? answer(model, request) : close(model)));
  });
  collectAtRest();
  reply({ type: 'ready', facts: model.facts });
} catch (error) {
  const known = MemorydError.is(error) ? error : new MemorydError('model_unavailable', messageOf(error));
  reply({ type: 'failed', code: known.code, message: known.message, details: known.details });
}

function messageOf(error: unknown): string {
  return `The model cannot be opened: ${error instanceof Error ? error.message : 'unknown failure'}`;
}

/** Bundles of one comparison follow each other: its question is read once. */
let asked: { question: string; nearest: Promise<NearestTokens> } | null = null;

function nearestTo(model: OpenModel, tokens: Int32Array): Promise<NearestTokens> {
  if (!model.ask) throw new MemorydError('embed_failed', 'The model does not compare tokens.');
  const question = tokens.join();
  if (asked?.question !== question) asked = { question, nearest: model.ask(tokens) };
  return asked.nearest;
}

/**
 * How close a question is to each text: for each token of the question the cosine to the token of the text that
 * is nearest to it, and the weighted mean of these ("MaxSim", Khattab and Zaharia, https://arxiv.org/abs/2004.12832).
 */
async function lateInteraction(
  model: OpenModel,
  { tokens, weights }: Question,
  sequences: readonly Int32Array[],
): Promise<Float32Array<ArrayBuffer>> {
  const scores = new Float32Array(sequences.length);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  if (total === 0) return scores;
  const nearest = await nearestTo(model, tokens);
  for (const [index, sequence] of sequences.entries()) {
    const isEmpty = sequence.length === framing;
    if (!isEmpty) scores[index] = dotProduct(await nearest(sequence), weights) / total;
  }
  return scores;
}
