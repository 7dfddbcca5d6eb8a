import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { Duplex } from 'node:stream';
import pg from 'pg';
import { valueTypes } from '../value-types.ts';
import type { WorkerEvent, WorkerReply, WorkerRequest, WorkerStart } from './worker.ts';

/** A running engine and the one client that talks to it. */
export interface EngineWorker {
  readonly client: pg.Client;
  /** Writes a tar of the cluster, for others to start from. */
  dump(file: string): Promise<void>;
  /** Ends the engine cleanly, with a shutdown checkpoint, and its thread. */
  close(): Promise<void>;
  /** The same while the process exits, when nothing asynchronous runs any more. False: not done in time. */
  closeNow(timeoutMs: number): boolean;
  /** Ends the thread at once, like a crash; the cluster recovers when it is opened again. */
  kill(): Promise<void>;
  /** Resolves with the reason when the engine breaks down by itself. */
  readonly brokeDown: Promise<Error>;
}

/** The engine did not start or broke down. `output` is what it printed last. */
export class EngineError extends Error {
  /** PostgreSQL's code for "the server crashed", so that callers see it as they would on a server. */
  readonly code = '57P02';
  readonly output: readonly string[];

  constructor(message: string, output: readonly string[]) {
    super(message);
    this.name = 'EngineError';
    this.output = output;
  }
}

/** Starts the engine in a thread of its own. Throws `EngineError`. */
export async function startEngine(start: Omit<WorkerStart, 'closed'>): Promise<EngineWorker> {
  const closed = new SharedArrayBuffer(4);
  const worker = new Worker(workerFile(), { workerData: { ...start, closed }, name: 'memoryd-database' });
  const brokeDown = breakdownOf(worker);
  await eventOf(worker, 'ready', brokeDown);
  const stream = createSessionStream(worker);
  void brokeDown.then((error) => stream.destroy(error));
  const client = await connect(stream);
  return {
    client,
    brokeDown,
    dump: (file) => ask(worker, { command: 'dump', file }, 'dumped', brokeDown),
    async close() {
      await client.end();
      await ask(worker, { command: 'close' }, 'closed', brokeDown);
      await worker.terminate();
    },
    closeNow(timeoutMs) {
      worker.postMessage({ command: 'close' } satisfies WorkerRequest);
      return Atomics.wait(new Int32Array(closed), 0, 0, timeoutMs) !== 'timed-out';
    },
    async kill() {
      stream.destroy();
      await worker.terminate();
    },
  };
}

/** A build turns .ts into .js: the worker has the extension that this file has. */
function workerFile(): URL {
  return new URL(`./worker${extname(import.meta.url)}`, import.meta.url);
}

async function connect(stream: ReturnType<typeof createSessionStream>): Promise<pg.Client> {
  const client = new pg.Client({
    stream: () => stream,
    // Said outright, because node-postgres would take them from the environment (PGSSLMODE and the like).
    ssl: false,
    host: 'embedded',
    port: 5432,
    user: 'postgres',
    password: 'none',
    database: 'postgres',
    application_name: 'memoryd',
    types: valueTypes,
  });
  // What breaks the connection also rejects the statement under way, and `brokeDown` tells the rest.
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

function breakdownOf(worker: Worker): Promise<Error> {
  return new Promise((resolve) => {
    worker.on('message', (reply: WorkerReply) => {
      if (!(reply instanceof ArrayBuffer) && reply.event === 'failed') {
        resolve(new EngineError(reply.message, reply.output));
      }
    });
    worker.once('error', (error: Error) => resolve(new EngineError(error.message, [])));
    worker.once('exit', (code) => resolve(new EngineError(`The thread ended with code ${code}.`, [])));
  });
}

type Event = WorkerEvent['event'];

function ask(worker: Worker, request: WorkerRequest, answer: Event, brokeDown: Promise<Error>): Promise<void> {
  const answered = eventOf(worker, answer, brokeDown);
  worker.postMessage(request);
  return answered;
}

/** Resolves at the event; rejects with the engine's error when it breaks down instead. */
function eventOf(worker: Worker, event: Event, brokeDown: Promise<Error>): Promise<void> {
  return new Promise((resolve, reject) => {
    const onMessage = (reply: WorkerReply) => {
      if (reply instanceof ArrayBuffer || reply.event !== event) return;
      worker.off('message', onMessage);
      resolve();
    };
    worker.on('message', onMessage);
    void brokeDown.then(reject);
  });
}

/**
 * The worker as a socket, so that node-postgres talks to the embedded engine exactly as to a
 * server: the same parameters, types, errors and prepared statements. Bytes change threads
 * without being copied.
 */
function createSessionStream(worker: Worker): Duplex {
  const send = (chunks: readonly Uint8Array[]) => {
    const bytes = join(chunks);
    worker.postMessage(bytes.buffer, [bytes.buffer]);
  };
  const stream = new Duplex({
    read() {},
    write(chunk: Buffer, _encoding, done) {
      if (chunk[0] !== terminate) send([chunk]);
      done();
    },
    writev(chunks, done) {
      send(chunks.map((each) => each.chunk as Buffer));
      done();
    },
    final(done) {
      stream.push(null);
      done();
    },
  });
  worker.on('message', (reply: WorkerReply) => {
    if (reply instanceof ArrayBuffer) stream.push(Buffer.from(reply));
  });
  return asSocket(stream);
}

/** The message "Terminate" (`X`) is for servers; the engine's only session ends by the command `close`. */
const terminate = 0x58;

function join(chunks: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(chunks.reduce((length, chunk) => length + chunk.length, 0));
  let offset = 0;
  for (const chunk of chunks) {
    joined.set(chunk, offset);
    offset += chunk.length;
  }
  return joined;
}

/** Adds the methods of a socket that node-postgres calls. */
function asSocket(stream: Duplex): Duplex {
  const nothing = () => stream;
  return Object.assign(stream, {
    connect: () => queueMicrotask(() => stream.emit('connect')),
    setNoDelay: nothing,
    setKeepAlive: nothing,
    ref: nothing,
    unref: nothing,
  });
}
