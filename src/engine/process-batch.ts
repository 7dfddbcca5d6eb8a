import type { Clock } from '../base/clock.ts';
import { MemorydError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { Remembering, Findings } from '../memory/remember.ts';
import type { Embedder } from '../models/embedder.ts';
import { storedChunks, type StoredChunk } from '../store/document-contents.ts';
import type { Database } from '../store/database.ts';
import { releaseLeases, type ClaimedDocument } from '../store/processing.ts';
import type { ExtractInput } from './extract/extracted.ts';
import { caught } from '../base/concurrency.ts';
import { fail, mayBePoisoned, requireHarmless, type Failure } from './document-leases.ts';
import type { UrlFetcher } from './fetch-url.ts';
import type { Ocr } from './ocr.ts';
import { readDocument } from './read-document.ts';
import type { Cutting } from './text/text-worker.ts';
import type { TextWork, WorkOptions } from './text/text-work.ts';
import {
  writeAll,
  writeVectors,
  writeWords,
  type Results,
  writtenOf,
  embedTexts,
  planWrites,
  type Pace,
  type Work,
  type WritePlan,
} from './write-batch.ts';

export interface BatchOptions {
  database: Database;
  embedder: Embedder;
  pace: Pace;
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
  /** Pauses before failed documents are processed again. Default those of section 7.3 of the API. */
  redrivesMs?: number[] | undefined;
}

/** Chunks of several documents that are embedded and written together: some seconds of a small model. */
const chunksAtOnce = 256;
/** Documents whose vectors take longer are found by their words until these are there. */
const momentMs = 500;
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

/** Events of a batch before its end. */
export interface BatchEvents {
  /** Only those are left that take long to read or to embed: nobody should wait for these. */
  prompt(): void;
  /** Documents were given back with their words: their vectors are to be made. */
  worded(): void;
}

/** Takes a batch of documents to their end, or to where they are found by their words. */
export async function processBatch(
  options: BatchOptions,
  batch: Batch,
  signal: AbortSignal,
  events: BatchEvents,
): Promise<void> {
  const long: Promise<void>[] = [];
  const onTheWay = { batch, signal, worded: events.worded, later: (work: Promise<void>) => long.push(caught(work)) };
  try {
    const stored = await chunksByDocument(options, batch);
    const preparing = batch.documents.map((one) => tryPrepare(options, one, stored.get(one.id) ?? [], signal));
    for await (const outcomes of asTheyCome(preparing, options.clock)) {
      const works = await withoutFailures(options, batch, outcomes, signal);
      const isLong = ({ chunks }: Work) => chunks.length > chunksAtOnce;
      for (const group of inGroups(works.filter((one) => !isLong(one)))) await takeOn(options, group, onTheWay);
      for (const work of works.filter(isLong)) long.push(caught(takeOn(options, [work], onTheWay)));
      events.prompt();
    }
    // More may come while they are waited for.
    for (const work of long) await work;
  } catch (error) {
    for (const work of long) await work.catch(() => {});
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

/**
 * Yields what is ready, again and again: at first when all are, or a moment after the first one is, or nothing when
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

async function tryPrepare(
  options: BatchOptions,
  document: ClaimedDocument,
  stored: StoredChunk[],
  signal: AbortSignal,
): Promise<Work | Failure> {
  try {
    requireHarmless(document);
    return await prepareOne(options, document, stored, signal);
  } catch (error) {
    return { document, error };
  }
}

async function chunksByDocument(options: BatchOptions, batch: Batch): Promise<Map<string, StoredChunk[]>> {
  const processedBefore = batch.documents.filter((one) => one.textHash !== null).map(({ id }) => id);
  if (processedBefore.length === 0) return new Map();
  return Map.groupBy(await storedChunks(options.database, processedBefore), (one) => one.documentId);
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
    overlapTokens: Math.floor(maxTokens / 10),
    tokens: embedder.tokens,
    title: document.givenTitle,
    place: placeOf(document),
  };
  const work: WorkOptions = { container: document.containerTag, signal };
  const read = (input: ExtractInput) => textWork.prepare(input, cutting, work);
  const cut = await readDocument({ read, ...options }, document, signal);
  const isAsSent = document.raw !== null && document.raw === cut.extracted.text;
  // Not needed any more, while the document waits for the vectors of a whole batch.
  Object.assign(document, { raw: null, bytes: null, content: null });
  return { document, ...cut, isAsSent, stored };
}

/** Folders of a file's path that say what it is about; those above them hold everything. */
const tellingFolders = 2;

/** Of a file: its name, with the folders that it lies in. */
function placeOf({ kind, filepath, fileName: name }: ClaimedDocument): string | null {
  if (kind !== 'file') return null;
  const path = filepath ?? name;
  return (
    path
      ?.split('/')
      .slice(-1 - tellingFolders)
      .join('/') || null
  );
}

interface OnTheWay {
  batch: Batch;
  signal: AbortSignal;
  worded: BatchEvents['worded'];
  /** Takes over work that nobody should wait for any longer. */
  later(work: Promise<void>): void;
}

/**
 * Documents whose vectors are there in a moment are written with them, in one step. Others are written with their
 * words first. When the model has other texts to go on with, they are given back then; else their vectors are on
 * the way already.
 */
async function takeOn(options: BatchOptions, works: Work[], onTheWay: OnTheWay): Promise<void> {
  const { batch, signal } = onTheWay;
  const plan = await planWrites(options, works);
  const writeFirst = (keepsLease: boolean) =>
    tryWrite(options, batch, works, () => writeWords(options, batch, works, { plan, keepsLease }));
  if (plan.toEmbed.length > 0 && options.pace.expectedMs(plan.toEmbed.length) > momentMs) {
    if (await writeFirst(false)) onTheWay.worded();
    return;
  }
  const making = makeResults(options, works, plan, signal);
  if (await isSettledIn(momentMs, making, options.clock))
    return withResults(options, { works, plan, making, write: writeAll }, onTheWay);
  if (await writeFirst(true))
    onTheWay.later(withResults(options, { works, plan, making, write: writeVectors }, onTheWay));
}

async function makeResults(
  options: BatchOptions,
  works: readonly Work[],
  plan: WritePlan,
  signal: AbortSignal,
): Promise<Results> {
  const texts = plan.toEmbed.map(({ text }) => text);
  const vectors = await embedTexts(options, texts, signal);
  return { plan, vectors, findings: await findInstant(options, works, signal) };
}

async function isSettledIn(ms: number, work: Promise<unknown>, clock: Clock): Promise<boolean> {
  const settled = new AbortController();
  const end = () => settled.abort();
  work.then(end, end);
  await clock.sleep(ms, settled.signal);
  return settled.signal.aborted;
}

interface Group {
  works: Work[];
  plan: WritePlan;
  making: Promise<Results>;
  write: typeof writeAll;
}

async function withResults(
  options: BatchOptions,
  { works, plan, making, write }: Group,
  onTheWay: OnTheWay,
): Promise<void> {
  const { batch, signal } = onTheWay;
  let results: Results;
  try {
    results = await making;
  } catch (error) {
    if (signal.aborted) throw error;
    if (works.length === 1 || !mayBePoisoned(error)) return failAll(options, batch, works, error);
    // One bad text must not fail its neighbours: each again on its own.
    for (const work of works) {
      const own = partOf(plan, work.document.id);
      const making = makeResults(options, [work], own, signal);
      await withResults(options, { works: [work], plan: own, making, write }, onTheWay);
    }
    return;
  }
  if (write === writeAll) for (const { document } of works) batch.stages.set(document.id, 'indexing');
  await tryWrite(options, batch, works, () => write(options, batch, works, results));
}

function partOf({ inserts, moves, deletes, toEmbed }: WritePlan, id: string): WritePlan {
  const isOwn = ({ documentId }: { documentId: string }) => documentId === id;
  return {
    inserts: inserts.filter(({ documentId }) => documentId === id),
    moves: moves.filter(isOwn),
    deletes: deletes.filter(isOwn),
    toEmbed: toEmbed.filter(isOwn),
  };
}

async function tryWrite(
  options: BatchOptions,
  batch: Batch,
  works: readonly Work[],
  write: () => Promise<void>,
): Promise<boolean> {
  try {
    await write();
    return true;
  } catch (error) {
    const wrapped = MemorydError.is(error)
      ? error
      : new MemorydError('index_failed', 'The chunks could not be written.', { cause: error });
    await failAll(options, batch, works, wrapped);
    return false;
  }
}

function failAll(options: BatchOptions, batch: Batch, works: readonly Work[], error: unknown): Promise<void> {
  return fail(
    options,
    batch,
    works.map(({ document }) => ({ document, error })),
  );
}

/** The statements of documents with `dreaming: "instant"`; null when there are none. Other documents are read after they are done. */
async function findInstant(
  { remembering, database }: { remembering?: Remembering; database: Database },
  works: readonly Work[],
  signal: AbortSignal,
): Promise<Findings | null> {
  const texts = works
    .filter(({ document }) => document.dreaming === 'instant')
    .map(({ document: { id, revision }, extracted, isTranscript }) => {
      const { author, writtenAt } = writtenOf(extracted);
      return { id, revision, text: extracted.text, isTranscript, author, writtenAt };
    });
  return remembering && texts.length > 0 ? remembering.findIn(database, texts, signal) : null;
}
