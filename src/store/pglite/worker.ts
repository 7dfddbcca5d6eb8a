/**
 * The thread in which the embedded PostgreSQL runs. It knows no SQL: bytes of the PostgreSQL
 * protocol come in and bytes go out, so the main thread talks to it as to a server.
 */
import fs, { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { PGlite } from '@electric-sql/pglite';
import { vector } from '@electric-sql/pglite-pgvector';
import { collectAtRest } from '../../base/concurrency.ts';
import { clusterSettings, initSettings } from './cluster-settings.ts';
import { parseBeforeOthers } from './parser-memory.ts';

/** The worker's start parameters. */
export interface WorkerStart {
  /** Where the cluster stands, or is made when there is none; null keeps it in memory. */
  clusterDir: string | null;
  /** A tar of a cluster that a new one starts from, instead of running initdb; null for an existing one. */
  templateFile: string | null;
  /** One int32 that becomes 1 when the engine is closed: what the main thread can wait for while it exits. */
  closed: SharedArrayBuffer;
}

/** To the worker: bytes of the PostgreSQL protocol, or a command. */
export type WorkerRequest = ArrayBuffer | { command: 'close' } | { command: 'dump'; file: string };

/** From the worker: bytes of the PostgreSQL protocol, or what became of it. */
export type WorkerReply = ArrayBuffer | WorkerEvent;

/** `failed`: the engine did not start, or broke down; the thread ends after it. */
export type WorkerEvent =
  { event: 'ready' | 'closed' | 'dumped' } | { event: 'failed'; message: string; output: string[] };

const port = parentPort!;
const start = workerData as WorkerStart;
const maxOutputLines = 40;
/** The engine's last words; its settings keep statements, and so content, out of them. */
const output: string[] = [];

/**
 * The engine's file system gives new files and folders mode 0666 or 0755, whatever the process' umask. It holds
 * everything that was ever mirrored, so the rights of others are taken away where the modes are set.
 * This thread has modules of its own: nothing outside of the engine is touched.
 */
function keepFilesPrivate(): void {
  const { chmodSync, fchmodSync, mkdirSync } = fs;
  const ownerOnly = (mode: fs.Mode) => Number(mode) & 0o700;
  fs.chmodSync = (path, mode) => chmodSync(path, ownerOnly(mode));
  fs.fchmodSync = (descriptor, mode) => fchmodSync(descriptor, ownerOnly(mode));
  fs.mkdirSync = ((path: string) => mkdirSync(path, { mode: 0o700 })) as typeof fs.mkdirSync;
  fs.writeFileSync = (path, data) => writeFileSync(path, data, { mode: 0o600 });
}

/** Whether the cluster exists. Making one calls the parser in ways of its own before it takes statements. */
function isThere({ clusterDir }: WorkerStart): boolean {
  return clusterDir !== null && fs.existsSync(join(clusterDir, 'PG_VERSION'));
}

function openEngine({ clusterDir, templateFile }: WorkerStart): Promise<PGlite> {
  return PGlite.create({
    ...(clusterDir === null ? {} : { dataDir: clusterDir }),
    ...(templateFile === null ? {} : { loadDataDir: new Blob([readFileSync(templateFile)]) }),
    extensions: { vector },
    postgresqlconf: clusterSettings,
    initDbStartParams: initSettings,
    onStderr: keepOutput,
  });
}

function keepOutput(line: string): boolean {
  output.push(line);
  if (output.length > maxOutputLines) output.shift();
  return false;
}

/** The status with which the engine leaves its main loop after an ordinary error (PGlite's POSTGRES_MAIN_LONGJMP). */
const ordinaryError = 100;

/**
 * PGlite swallows every exception of the engine's main loop and calls it again. All but one kind
 * mean that the engine aborted (a PANIC, no memory), and it would spin for ever: so the thread ends
 * here, with what the engine had answered.
 */
function endOnBreakdown(engine: PGlite): void {
  const module = engine.Module;
  const runOnce = module._PostgresMainLoopOnce.bind(module);
  module._PostgresMainLoopOnce = () => {
    try {
      runOnce();
    } catch (error) {
      if ((error as { status?: number }).status === ordinaryError) throw error;
      sendAnswer();
      fail(error);
      process.exit(1);
    }
  };
}

/** The engine's answer so far to the request under way. */
let answer: Uint8Array[] = [];

/** One request may hold several messages of the protocol (parse, bind, execute, sync). */
async function converse(engine: PGlite, request: ArrayBuffer): Promise<void> {
  await engine.execProtocolRawStream(new Uint8Array(request), {
    syncToFs: false,
    // The bytes are a view into the engine's memory, which it reuses.
    onRawData: (bytes) => answer.push(bytes.slice()),
  });
  sendAnswer();
}

function sendAnswer(): void {
  const bytes = joinChunks(answer);
  answer = [];
  reply(bytes, [bytes]);
}

function joinChunks(chunks: readonly Uint8Array[]): ArrayBuffer {
  const joined = new Uint8Array(chunks.reduce((length, chunk) => length + chunk.length, 0));
  let offset = 0;
  for (const chunk of chunks) {
    joined.set(chunk, offset);
    offset += chunk.length;
  }
  return joined.buffer;
}

async function serve(engine: PGlite, request: WorkerRequest): Promise<void> {
  if (request instanceof ArrayBuffer) return converse(engine, request);
  if (request.command === 'dump') {
    const tar = await engine.dumpDataDir('none');
    writeFileSync(request.file, new Uint8Array(await tar.arrayBuffer()));
    return reply({ event: 'dumped' });
  }
  await engine.close();
  const closed = new Int32Array(start.closed);
  Atomics.store(closed, 0, 1);
  Atomics.notify(closed, 0);
  reply({ event: 'closed' });
  port.close();
}

function reply(message: WorkerReply, transfer: ArrayBuffer[] = []): void {
  port.postMessage(message, transfer);
}

function fail(error: unknown): void {
  reply({ event: 'failed', message: describe(error), output });
  port.close();
}

/** Errors of the engine's file system are bare numbers of WASI; these are what a machine can do about. */
const fileErrors: Record<number, string> = {
  2: 'Permission denied',
  19: 'Disk quota exceeded',
  29: 'Input/output error',
  51: 'No space left on device',
  69: 'Read-only file system',
};

function describe(error: unknown): string {
  if (error instanceof Error) return error.message;
  const errno = typeof error === 'object' && error !== null && 'errno' in error ? Number(error.errno) : undefined;
  if (errno === undefined) return String(error);
  return fileErrors[errno] ?? `file system error ${errno}`;
}

const onEarlyEnd = () => fail(new Error('the engine stopped while it started'));

try {
  // Some damage leaves the engine's promise unsettled, and a thread with nothing to do ends.
  process.once('exit', onEarlyEnd);
  keepFilesPrivate();
  if (isThere(start)) parseBeforeOthers();
  const engine = await openEngine(start);
  process.off('exit', onEarlyEnd);
  endOnBreakdown(engine);
  output.length = 0;
  port.on('message', (request: WorkerRequest) => void serve(engine, request).catch(fail));
  collectAtRest();
  reply({ event: 'ready' });
} catch (error) {
  process.off('exit', onEarlyEnd);
  fail(error);
}
