import type { Clock } from '../base/clock.ts';
import { MemorydError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { Findings, Remembering } from '../memory/remember.ts';
import type { Embedder } from '../models/embedder.ts';
import { deleteChunks, insertChunks, moveChunks, storedChunks, type StoredChunk } from '../store/chunks.ts';
import type { Database } from '../store/database.ts';
import { queueSummaries } from '../store/summaries.ts';
import { failDocuments, finishDocuments, releaseLeases, type ClaimedDocument } from '../store/processing.ts';
import type { Extracted, ExtractInput } from './extract/extracted.ts';
import type { UrlFetcher } from './fetch-url.ts';
import { findInstant } from './instant-memories.ts';
import type { Ocr } from './ocr.ts';
import { readDocument } from './read-document.ts';
import { nextAttempt } from './retry.ts';
import type { Cutting } from './text/tasks.ts';
import type { TextWork, WorkOptions } from './text/text-work.ts';
import { planWrites, type Work, type WritePlan } from './write-plan.ts';
import { writtenOf } from './written-by.ts';

export interface BatchOptions {
  database: Database;
  embedder: Embedder;
  textWork: TextWork;
  /** Absent: documents that are an address fail. */
  fetcher?: UrlFetcher;
  /** None: images and scans fail. */
  ocr?: Ocr | null;
  /** Absent: no memories are made. */
  remembering?: Remembering;
  /** Documents wait for titles and summaries once they are done. */
  summarizes?: boolean;
  clock: Clock;
  log: Logger;
  /** Tokens of a chunk; at most what the embedder takes. */
  chunkTokens?: () => Promise<number | null>;
  overlapTokens?: number;
  /** Pauses before failed documents are processed again. Default those of section 7.3 of the API. */
  redrivesMs?: number[] | undefined;
}

/** A document that took this many workers with it, most of them alone, is not given to another one. */
const mostLostWorkers = 10;
/** Chunks of several documents that are embedded and written together: some seconds of a small model. */
const chunksAtOnce = 256;
/** How long the documents of a batch that are ready wait for those that are not. */
const patienceMs = 250;
const longestMs = 1_000;

type Stage = 'extracting' | 'embedding' | 'indexing';

/** Documents that are held under one lease. */
export interface Batch {
  leaseToken: string;
  documents: ClaimedDocument[];
  /** How far each is. */
  stages: Map<string, Stage>;
}

export function toBatch(leaseToken: string, documents: ClaimedDocument[]): Batch {
  return { leaseToken, documents, stages: new Map(documents.map(({ id }) => [id, 'extracting'])) };
}

/**
 * Takes a batch of documents to their end. `prompt` is called when only those are left that take long to read
 * or to embed: nobody should wait for these.
 */
export async function processBatch(
  options: BatchOptions,
  batch: Batch,
  signal: AbortSignal,
  prompt: () => void,
): Promise<void> {
  const long: Promise<void>[] = [];
  try {
    const stored = await chunksByDocument(options, batch);
    const preparing = batch.documents.map((one) => tryPrepare(options, one, stored.get(one.id) ?? [], signal));
    for await (const outcomes of asTheyCome(preparing, options.clock)) {
      const works = await withoutFailures(options, batch, outcomes, signal);
      const isLong = ({ chunks }: Work) => chunks.length > chunksAtOnce;
      for (const group of inGroups(works.filter((one) => !isLong(one))))
        await embedAndWrite(options, batch, group, signal);
      for (const work of works.filter(isLong)) long.push(caught(embedAndWrite(options, batch, [work], signal)));
      prompt();
    }
    await Promise.all(long);
  } catch (error) {
    await Promise.allSettled(long);
    if (!signal.aborted) throw error;
    const ids = batch.documents.map(({ id }) => id);
    await releaseLeases(options.database, batch.leaseToken, ids, options.clock.now());
  }
}

/** Short ones first, and written as soon as they are ready, so that none waits for the vectors of a book. */
function inGroups(works: readonly Work[]): Work[][] {
  const groups: Work[][] = [];
  let room = 0;
  for (const work of works.toSorted((left, right) => left.chunks.length - right.chunks.length)) {
    const group = groups.at(-1);
    if (group && work.chunks.length <= room) group.push(work);
    else {
      groups.push([work]);
      room = chunksAtOnce;
    }
    room -= work.chunks.length;
  }
  return groups;
}

/** To be awaited later; a failure until then is not one that nobody handles. */
function caught(work: Promise<void>): Promise<void> {
  work.catch(() => {});
  return work;
}

/**
 * What is ready, again and again: at first when all are, or a moment after the first one is, or nothing when
 * that takes long. None of the promises may reject.
 */
async function* asTheyCome<Item>(items: readonly Promise<Item>[], clock: Clock): AsyncGenerator<Item[]> {
  const ready: Item[] = [];
  const all = new AbortController();
  let left = items.length;
  let arrived = Promise.withResolvers<void>();
  for (const item of items) {
    void item.then((value) => {
      ready.push(value);
      left -= 1;
      if (left === 0) all.abort();
      arrived.resolve();
    });
  }
  while (left > 0 || ready.length > 0) {
    // Nothing, when even the first one takes long.
    await Promise.race([arrived.promise, clock.sleep(longestMs, all.signal)]);
    await clock.sleep(patienceMs, all.signal);
    arrived = Promise.withResolvers();
    if (left === 0) arrived.resolve();
    yield ready.splice(0);
  }
}

/** Marks those that failed and leaves them out. */
async function withoutFailures(
  options: BatchOptions,
  batch: Batch,
  outcomes: readonly (Work | Failure)[],
  signal: AbortSignal,
): Promise<Work[]> {
  signal.throwIfAborted();
  const failures = outcomes.filter((one) => 'error' in one);
  for (const { document } of outcomes) batch.stages.set(document.id, 'embedding');
  await fail(options, batch, failures);
  return outcomes.filter((one): one is Work => !('error' in one));
}

interface Failure {
  document: ClaimedDocument;
  error: unknown;
}

async function tryPrepare(
  options: BatchOptions,
  document: ClaimedDocument,
  stored: StoredChunk[],
  signal: AbortSignal,
): Promise<Work | Failure> {
  try {
    if (document.lost_workers >= mostLostWorkers)
      throw new MemorydError('lost_worker', 'Workers keep dying while they process this.');
    return await prepareOne(options, document, stored, signal);
  } catch (error) {
    return { document, error };
  }
}

async function chunksByDocument(options: BatchOptions, batch: Batch): Promise<Map<string, StoredChunk[]>> {
  const processedBefore = batch.documents.filter((one) => one.text_hash !== null).map(({ id }) => id);
  if (processedBefore.length === 0) return new Map();
  return Map.groupBy(await storedChunks(options.database, processedBefore), (one) => one.document_id);
}

async function prepareOne(
  options: BatchOptions,
  document: ClaimedDocument,
  stored: StoredChunk[],
  signal: AbortSignal,
): Promise<Work> {
  const { embedder, textWork } = options;
  const maxTokens = Math.min((await options.chunkTokens?.()) ?? 256, embedder.maxTokens);
  const cutting: Cutting = {
    maxTokens,
    overlapTokens: options.overlapTokens ?? Math.floor(maxTokens / 10),
    tokens: embedder.tokens,
    title: document.given_title,
  };
  const work: WorkOptions = { container: document.container_tag, signal };
  const read = (input: ExtractInput) => textWork.prepare(input, cutting, work);
  const cut = await readDocument({ read, ...options }, document, signal);
  const isAsSent = document.raw !== null && document.raw === cut.extracted.text;
  // Not needed any more, while the document waits for the vectors of a whole batch.
  Object.assign(document, { raw: null, bytes: null, content: null });
  const usable = stored.filter((one) => one.embedding_model === embedder.id);
  return { document, ...cut, isAsSent, kept: Map.groupBy(usable, (one) => one.content_hash), stored };
}

async function embedAndWrite(options: BatchOptions, batch: Batch, works: Work[], signal: AbortSignal): Promise<void> {
  let plan: WritePlan;
  let findings: Findings | null;
  try {
    plan = await planWrites(options, works, signal);
    findings = await findInstant(options, works, signal);
  } catch (error) {
    if (signal.aborted) throw error;
    const poisoned = works.length > 1 && !(MemorydError.is(error) && error.retryAfterMs !== undefined);
    if (!poisoned)
      return fail(
        options,
        batch,
        works.map(({ document }) => ({ document, error })),
      );
    // One bad text must not fail its neighbours: each again on its own.
    for (const work of works) await embedAndWrite(options, batch, [work], signal);
    return;
  }
  for (const { document } of works) batch.stages.set(document.id, 'indexing');
  try {
    await write(options, batch, works, { ...plan, findings });
  } catch (error) {
    const wrapped = MemorydError.is(error)
      ? error
      : new MemorydError('index_failed', 'The chunks could not be written.', { cause: error });
    await fail(
      options,
      batch,
      works.map(({ document }) => ({ document, error: wrapped })),
    );
  }
}

interface Results extends WritePlan {
  findings: Findings | null;
}

async function write(options: BatchOptions, batch: Batch, works: readonly Work[], plan: Results): Promise<void> {
  const now = options.clock.now();
  await options.database.transaction(async (tx) => {
    const finished = await finishDocuments(tx, works.map(finishedDocument), {
      leaseToken: batch.leaseToken,
      now,
      memories: options.remembering !== undefined,
    });
    const deletes = plan.deletes.filter((one) => finished.has(one.documentId)).map(({ id }) => id);
    const moves = plan.moves.filter((one) => finished.has(one.documentId));
    const inserts = plan.inserts.flatMap((one) => {
      const tag = finished.get(one.document_id);
      return tag === undefined ? [] : [{ ...one, container_tag: tag }];
    });
    if (deletes.length > 0) await deleteChunks(tx, deletes);
    if (moves.length > 0)
      await moveChunks(
        tx,
        moves.map(({ id, position }) => ({ id, position })),
      );
    if (inserts.length > 0) await insertChunks(tx, inserts, now);
    if (options.summarizes) await queueSummaries(tx, [...finished.keys()], now);
    if (plan.findings) await options.remembering?.store(tx, findingsOf(plan.findings, finished));
  });
}

/** Without those of documents that another worker has: it finds them as well. */
function findingsOf(findings: Findings, finished: ReadonlyMap<string, string>): Findings {
  return { ...findings, documents: findings.documents.filter(({ id }) => finished.has(id)) };
}

function finishedDocument({ document, extracted, textHash, isTranscript, chunks, isAsSent }: Work) {
  const { author, writtenAt } = writtenOf(extracted);
  return {
    id: document.id,
    revision: document.revision,
    title: extracted.title ?? document.file_name,
    type: document.type === 'text' || document.kind === 'url' ? extracted.type : document.type,
    og_image: ogImageOf(extracted),
    text_hash: textHash,
    author,
    written_at: writtenAt,
    is_transcript: isTranscript,
    chunk_starts: chunks.map(({ start }) => start),
    chunk_ends: chunks.map(({ end }) => end),
    content: isAsSent ? null : extracted.text,
  };
}

function ogImageOf({ metadata }: Extracted): string | null {
  const image = metadata?.['image'];
  return typeof image === 'string' && image.length <= 2048 ? image : null;
}

/** Gives failed documents another time, or ends them with a reason. */
async function fail(options: BatchOptions, batch: Batch, failures: readonly Failure[]): Promise<void> {
  if (failures.length === 0) return;
  for (const { document } of failures) batch.stages.delete(document.id);
  const now = options.clock.now();
  const rows = failures.map(({ document, error }) => {
    const row = { id: document.id, type: document.type, ...nextAttempt(error, document, now, options.redrivesMs) };
    const unexpected = !MemorydError.is(error);
    options.log[unexpected ? 'error' : 'debug'](
      { documentId: row.id, code: row.error_code, status: row.status, ...(unexpected ? { err: error } : {}) },
      'document not processed',
    );
    return row;
  });
  await failDocuments(options.database, rows, { leaseToken: batch.leaseToken, now });
}
