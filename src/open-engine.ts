import { openLanguageModel, openOcr, openQueue, type AppOptions } from './adapters.ts';
import { createChunkSize } from './account/settings.ts';
import { createAddressGuard } from './base/address-guard.ts';
import { pausesMsOf } from './base/redrive-pauses.ts';
import { createUrlFetcher } from './engine/fetch-url.ts';
import {
  createHandOver,
  type HandOver,
  createWaking,
  type Waking,
  createProcessor,
  type Processor,
} from './engine/process.ts';
import type { Ocr } from './engine/ocr.ts';
import { terms } from './engine/terms.ts';
import { createTextWork, type TextWork } from './engine/text/text-work.ts';
import { createLlmExtractor } from './memory/llm/llm-extractor.ts';
import type { MeteredModel } from './memory/llm/metered-model.ts';
import { createRemembering, type Remembering } from './memory/remember.ts';
import type { Embedder } from './models/embedder.ts';
import { Opened, type Opening } from './opening.ts';
import type { TaskQueue } from './queue/task-queue.ts';
import type { Database } from './store/database.ts';
import { noteMemoriesSwitch } from './store/memory-settings.ts';
import { migrate } from './store/migrate.ts';
import type { Clock } from './base/clock.ts';
import { clearLeases } from './store/leases.ts';
import { deleteOldProcesses } from './store/processes.ts';
import { releaseAllConnections } from './store/connections.ts';
import { releaseAllItems } from './store/sync-items.ts';
import { releaseAllLeases } from './store/processing.ts';
import { releaseAllRenewals } from './store/credentials.ts';

/** Documents that one drain claims at a time. */
const batchSize = 32;

/**
 * No other process works on the embedded database, and what one held is given back when it is opened again. Longer
 * than any statement keeps a renewal waiting: what is claimed again meanwhile would be worked on twice.
 */
const aloneLeaseMs = 2 * 60_000;

/** Limits of the work on one document; a hostile one must not take the daemon with it. */
const textLimits = { threads: 2, timeoutMs: 60_000, maxMemoryMb: 256 };

/** The store, the queue, and what makes memories out of documents. */
export interface Engine {
  database: Database;
  embedder: Embedder;
  textWork: TextWork;
  /** Null: pictures are not read. */
  ocr: Ocr | null;
  /** Null: no language model is configured. */
  languageModel: MeteredModel | null;
  remembering: Remembering;
  processor: Processor;
  handOver: HandOver;
  queue: TaskQueue;
  waking: Waking;
  /** Closed when nothing works for the queue any more. */
  afterQueue: Opened;
}

/** Everything that opens is added to `opened`, also when it throws. */
export async function openEngine(options: AppOptions, opening: Opening, opened: Opened): Promise<Engine> {
  const { config, clock, log } = options;
  const database = opened.add(await opening.database);
  await migrate(database, { log });
  if (database.engine === 'pglite') await recoverAlone(database, clock);
  const embedder = await opening.embedder;
  const textWork = opened.add(createTextWork({ log, ...textLimits }));
  const fetcher = opened.add(createUrlFetcher({ guard: createAddressGuard(config) }));
  const ocr = opened.add(await openOcr(options));
  const languageModel = opened.add(await openLanguageModel(options, database));
  const remembering = openRemembering(options, { database, embedder, textWork, languageModel });
  await noteMemoriesSwitch(database, config.memories === 'on', clock.now());
  const processor = createProcessor({
    ...{ database, embedder, textWork, fetcher, ocr, clock, log, batchSize },
    summarizes: languageModel !== null && config.llm.summaries,
    ...(config.memories === 'on' && { remembering }),
    chunkTokens: createChunkSize({ database, clock }),
    ...(database.engine === 'pglite' && { leaseMs: aloneLeaseMs }),
    redrivesMs: pausesMsOf(config.redriveSchedule),
  });
  const handOver = opened.add(createHandOver({ processor, clock, log, concurrency: config.worker.concurrency }));
  const afterQueue = opened.add(new Opened());
  // Closed before what its handlers use.
  const queue = opened.add(await openQueue(options));
  const waking = createWaking({
    queue,
    slots: config.worker.concurrency,
    batchSize,
    lost: (error) => log.warn({ err: error }, 'queue does not take tasks, the sweep finds the work'),
  });
  return {
    ...{ database, embedder, textWork, ocr, languageModel, remembering },
    ...{ processor, handOver, queue, waking, afterQueue },
  };
}

function openRemembering(
  { clock }: AppOptions,
  parts: Pick<Engine, 'database' | 'embedder' | 'textWork' | 'languageModel'>,
): Remembering {
  const { database, embedder, textWork, languageModel } = parts;
  const { rules } = textWork;
  const now = () => clock.now();
  return createRemembering({
    extractor: languageModel ? createLlmExtractor({ database, embedder, answering: languageModel, rules, now }) : rules,
    turnsOf: (text, signal) => textWork.turns(text, { signal }),
    ...{ embedder, index: terms, clock },
  });
}

/** The embedded database has one process at a time, so whatever is leased was leased by a dead one. */
export async function recoverAlone(database: Database, clock: Clock): Promise<void> {
  const now = clock.now();
  await clearLeases(database);
  await deleteOldProcesses(database, now);
  await releaseAllLeases(database, now);
  await releaseAllItems(database, now);
  await releaseAllRenewals(database);
  await releaseAllConnections(database, now);
}
