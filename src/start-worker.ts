import type { AppOptions } from './adapters.ts';
import type { Credentials } from './auth/credentials.ts';
import type { Outbound } from './source/http/outbound.ts';
import type { Registry } from './connector/registry.ts';
import type { RunSettings } from './sync/run.ts';
import type { Watching } from './inbound/watching.ts';
import { workOnSyncs } from './sync/work-syncs.ts';
import type { HandOver } from './engine/hand-over.ts';
import type { Ocr } from './engine/ocr.ts';
import type { Processor } from './engine/process.ts';
import { withPictures } from './engine/read-pictures.ts';
import type { TextWork } from './engine/text/text-work.ts';
import type { Waking } from './engine/waking.ts';
import type { TaskQueue } from './queue/task-queue.ts';
import type { Database } from './store/database.ts';

export interface WorkerParts {
  database: Database;
  processor: Processor;
  textWork: TextWork;
  /** Null: pictures are not read. */
  ocr: Ocr | null;
  handOver: HandOver;
  queue: TaskQueue;
  waking: Waking;
  registry: Registry;
  credentials: Credentials;
  outbound: Outbound;
  settings: RunSettings;
  watching: Watching;
}

/** Takes documents and syncs from the queue, until that is closed. */
export async function startWorker({ config, clock, log }: AppOptions, worker: WorkerParts): Promise<void> {
  const { database, processor, textWork, ocr, handOver, queue, waking, registry, credentials, outbound } = worker;
  const { settings, watching } = worker;
  await queue.work('process-documents', async (_, signal) => void (await processor.drain(signal)), {
    concurrency: config.worker.concurrency,
  });
  const runner = {
    database,
    clock,
    log,
    credentials,
    outbound,
    extractor: withPictures(textWork, ocr),
    settings,
    watching,
    connector: (name: string) => registry.load(name),
    wake: (count: number) => waking.documents(count),
    invite: (connectionId: string) => waking.fetchers(connectionId),
    handOver,
  };
  await workOnSyncs(queue, runner, config.sync.concurrency);
}
