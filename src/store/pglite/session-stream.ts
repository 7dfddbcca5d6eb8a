import { Duplex } from 'node:stream';
import type { Worker } from 'node:worker_threads';
import type { WorkerReply } from './worker-messages.ts';

/**
 * The worker as a socket, so that node-postgres talks to the embedded engine exactly as to a
 * server: the same parameters, types, errors and prepared statements. Bytes change threads
 * without being copied.
 */
export function createSessionStream(worker: Worker, onSend: (bytes: number) => void): Duplex {
  const send = (chunks: readonly Uint8Array[]) => {
    const bytes = join(chunks);
    onSend(bytes.length);
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

/** What node-postgres calls on a socket. */
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
