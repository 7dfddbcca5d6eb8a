import type { Clock } from '../base/clock.ts';
import { MemorydError } from '../base/errors.ts';
import { newId } from '../base/ids.ts';
import type { Logger } from '../base/log.ts';
import { requireWritable } from '../engine/add-documents.ts';
import {
  countInFlight,
  findMerge,
  insertMerge,
  lockContainers,
  lockMerge,
  moveContainer,
  openMerges,
  writeMerge,
  type MergeProgress,
  type MergeRow,
} from '../store/container-merges.ts';
import { deleteContainer, insertContainer } from '../store/container-tags.ts';
import type { Database, Transaction } from '../store/database.ts';

/** A move of everything in some containers into another one. */
export type Merge = Omit<MergeRow, 'attempts'>;

export interface MergeOptions {
  /** A target that is not there is made. */
  makesTarget?: boolean;
  /** See `MergeRow`. */
  renamesIds?: boolean;
}

export interface Merges {
  /**
   * Starts moving everything of the sources into the target; the sources are gone afterwards. Throws
   * `invalid_request` unless there is a source, `not_found` for a container that is not there,
   * `conflict` while one of them is part of another merge.
   */
  start(sourceTags: readonly string[], targetTag: string, options?: MergeOptions): Promise<Merge>;
  find(id: string): Promise<Merge | null>;
  /** Goes on with merges that a stop of their process has interrupted. */
  runOpen(signal: AbortSignal): Promise<void>;
  /** Ends what goes on after an answer was given; the next process goes on with it. */
  close(): Promise<void>;
}

export interface MergesOptions {
  database: Database;
  clock: Clock;
  log: Logger;
  /** Stays when it is merged into another one, empty. */
  defaultContainerTag: string;
}

const waitMs = 1_000;
const maxAttempts = 5;

export function createMerges(options: MergesOptions): Merges {
  const { database, clock, log } = options;
  const stop = new AbortController();
  const going = new Set<Promise<void>>();

  async function run(id: string, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if (await attempt(options, id)) return;
      await clock.sleep(waitMs, signal);
    }
  }

  function runLater(id: string): void {
    const running = run(id, stop.signal).catch((error: unknown) =>
      log.error({ err: error, mergeId: id }, 'merge of containers stopped, it will be resumed'),
    );
    going.add(running);
    void running.then(() => going.delete(running));
  }

  return {
    async start(sourceTags, targetTag, wanted = {}) {
      const sources = [...new Set(sourceTags)].filter((tag) => tag !== targetTag);
      if (sources.length === 0) throw new MemorydError('invalid_request', 'There is no container to merge from');
      const id = await store(options, sources, targetTag, wanted);
      runLater(id);
      const { renamesIds = false } = wanted;
      return { id, sourceTags: sources, targetTag, renamesIds, status: 'queued', progress: null, lastError: null };
    },
    find: (id) => findMerge(database, id),
    async runOpen(signal) {
      for (const id of await openMerges(database)) {
        if (!signal.aborted) await attempt(options, id);
      }
    },
    async close() {
      stop.abort();
      await Promise.all(going);
    },
  };
}

async function store(
  { database, clock }: MergesOptions,
  sourceTags: readonly string[],
  targetTag: string,
  { makesTarget = false, renamesIds = false }: MergeOptions,
): Promise<string> {
  const now = clock.now();
  const id = newId(now);
  await database.transaction(async (tx) => {
    if (makesTarget) await insertContainer(tx, { tag: targetTag, id: newId(now) }, now);
    const tags = [...sourceTags, targetTag];
    const existing = await lockContainers(tx, tags);
    const missing = tags.find((tag) => !existing.includes(tag));
    if (missing !== undefined) throw new MemorydError('not_found', `Container ${missing} not found`);
    await requireWritable(tx, tags);
    await insertMerge(tx, { id, sourceTags, targetTag, renamesIds }, now);
  });
  return id;
}

/** One attempt, in one transaction. Answers whether the merge is over. */
async function attempt(options: MergesOptions, id: string): Promise<boolean> {
  const { database, clock, log } = options;
  try {
    return await database.transaction((tx) => moveAll(tx, id, options));
  } catch (error) {
    log.error({ err: error, mergeId: id }, 'merge of containers failed');
    return database.transaction((tx) => noteFailure(tx, id, clock.now()));
  }
}

async function moveAll(tx: Transaction, id: string, options: MergesOptions): Promise<boolean> {
  const merge = await lockMerge(tx, id);
  // Over, or another process is at it, which then brings it to its end.
  if (!merge) return true;
  const now = options.clock.now();
  const { sourceTags, targetTag } = merge;
  await lockContainers(tx, [...sourceTags, targetTag]);
  const inFlightItems = await countInFlight(tx, sourceTags);
  const progress: MergeProgress = {
    phase: 'waiting_for_ingest',
    copiedRows: 0,
    completedSourceTags: [],
    inFlightItems,
    attempt: merge.attempts + 1,
  };
  if (inFlightItems > 0) {
    await writeMerge(tx, { ...merge, status: 'waiting_for_ingest', progress }, { now, finished: false });
    return false;
  }
  for (const tag of sourceTags) {
    progress.copiedRows += await moveContainer(tx, { from: tag, to: targetTag, renamesIds: merge.renamesIds }, now);
    if (tag !== options.defaultContainerTag) await deleteContainer(tx, tag);
    progress.completedSourceTags.push(tag);
  }
  const done = {
    ...merge,
    status: 'completed',
    progress: { ...progress, phase: 'completed' },
    lastError: null,
  } as const;
  await writeMerge(tx, done, { now, finished: true });
  return true;
}

/** Answers whether it is given up. */
async function noteFailure(tx: Transaction, id: string, now: Date): Promise<boolean> {
  const merge = await lockMerge(tx, id);
  if (!merge) return true;
  const attempts = merge.attempts + 1;
  const finished = attempts >= maxAttempts;
  const lastError = 'The database did not take the change; see the log.';
  await writeMerge(
    tx,
    { ...merge, attempts, lastError, status: finished ? 'failed' : merge.status },
    { now, finished },
  );
  return finished;
}
