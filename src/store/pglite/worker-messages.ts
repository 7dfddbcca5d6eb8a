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
