import { parentPort, workerData } from 'node:worker_threads';
import { MemorydError } from '../../base/errors.ts';
import type { WorkerReply, WorkerRequest, WorkerSetup } from './messages.ts';
import { openModel, type OpenModel } from './open-model.ts';

/** Entry of the thread that runs a model; the protocol is in messages.ts. */
const port = parentPort!;

function reply(message: WorkerReply, transfer: ArrayBuffer[] = []): void {
  port.postMessage(message, transfer);
}

async function run(model: OpenModel, sequences: readonly Int32Array[]): Promise<void> {
  const values = new Float32Array(sequences.length * model.dimensions);
  for (const [index, sequence] of sequences.entries()) {
    values.set(await model.run(sequence), index * model.dimensions);
  }
  reply({ type: 'vectors', values }, [values.buffer]);
}

async function close(model: OpenModel): Promise<void> {
  await model.release();
  port.close();
}

try {
  const model = await openModel(workerData as WorkerSetup);
  let last: Promise<void> = Promise.resolve();
  port.on('message', (request: WorkerRequest) => {
    // One after another: the model must not be released while it runs.
    last = last.then(() => (request.type === 'run' ? run(model, request.sequences) : close(model)));
  });
  reply({ type: 'ready', facts: model.facts });
} catch (error) {
  const known = MemorydError.is(error) ? error : new MemorydError('model_unavailable', messageOf(error));
  reply({ type: 'failed', code: known.code, message: known.message, details: known.details });
}

function messageOf(error: unknown): string {
  return `The model cannot be opened: ${error instanceof Error ? error.message : 'unknown failure'}`;
}
