import { hash, randomUUID } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { MemorydError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { Findings, Remembering } from '../memory/remember.ts';
import type { Embedder } from '../models/embedder.ts';
import { deleteChunks, insertChunks, moveChunks, storedChunks, type StoredChunk } from '../store/chunks.ts';
import type { Database } from '../store/database.ts';
import {
  claimDocuments,
  failDocuments,
  finishDocuments,
  releaseLeases,
  renewLeases,
  type ClaimedDocument,
} from '../store/processing.ts';
import { createAddressWork, type AddressWork } from './address-work.ts';
import { chunk } from './chunk/chunk.ts';
import { withContext } from './chunk/context.ts';
import { extractDocument } from './extract-document.ts';
import type { Extracted } from './extract/extracted.ts';
import type { Extractor } from './extract/extractor.ts';
import type { UrlFetcher } from './fetch-url.ts';
import { createPauses } from './pauses.ts';
import { findInstant } from './instant-memories.ts';
import { nextAttempt } from './retry.ts';
import { planWrites, type Work, type WritePlan } from './write-plan.ts';

export interface ProcessorOptions {
  database: Database;
  embedder: Embedder;
  extractor: Extractor;
  /** Absent: documents that are an address fail. */
  fetcher?: UrlFetcher;
  /** Absent: also documents with `dreaming: "instant"` are read after they are done. */
  remembering?: Remembering;
  clock: Clock;
  log: Logger;
  /** Documents claimed at once. Default 32. */
  batchSize?: number;
  /** How long a dead worker keeps its documents. Default 30,000. */
  leaseMs?: number;
  /** Tokens of a chunk; at most what the embedder takes. */
  chunkTokens?: () => Promise<number | null>;
  overlapTokens?: number;
  /** Pauses before failed documents are processed again. Default those of section 7.3 of the API. */
  redrivesMs?: number[] | undefined;
}

export interface Processor {
  /** Processes documents that are held under a lease, keeping it alive from this call on; `start` delays the work. */
  process(leaseToken: string, documents: ClaimedDocument[], signal: AbortSignal, start?: Promise<void>): Promise<void>;
  /** Claims and processes batches until nothing is due or the signal aborts. Returns how many were claimed. */
  drain(signal: AbortSignal): Promise<number>;
}

/** A document that took this many workers with it is not given to another one. */
const maxClaims = 25;
/** Chunks of several documents that are embedded and written together: some seconds of a small model. */
const chunksAtOnce = 256;

type Stage = 'extracting' | 'chunking' | 'embedding' | 'indexing';

interface Batch {
  leaseToken: string;
  stage: Stage;
  documents: ClaimedDocument[];
}

/**
 * Takes queued documents through extract → chunk → embed → index. Several drains may run side by
 * side, in this process and in others: each works on what it claimed, and only the holder of the
 * lease on the claimed revision can write a result.
 */
export function createProcessor(options: ProcessorOptions): Processor {
  const { database, clock } = options;
  const leaseMs = options.leaseMs ?? 30_000;
  const leaseUntil = () => new Date(clock.now().getTime() + leaseMs);

  async function drain(signal: AbortSignal): Promise<number> {
    const addresses = createAddressWork(clock);
    let claimed = 0;
    try {
      while (!signal.aborted) {
        const batch = await claim();
        claimed += batch.documents.length;
        const [pages, others] = apart(batch);
        if (pages.documents.length > 0) addresses.start(fetchAll(addresses, pages, signal));
        if (others.documents.length > 0) await withRenewal(others, () => processBatch(options, others, signal));
        else if (!(await addresses.pause())) break;
        while (addresses.isFull) await addresses.pause();
      }
    } finally {
      await addresses.settled();
    }
    return claimed;
  }

  /** Each on its own, so that none waits for the answer of another one's server. */
  function fetchAll(addresses: AddressWork, pages: Batch, signal: AbortSignal): Promise<void> {
    return withRenewal(pages, () =>
      addresses.each(pages.documents, (document) => processBatch(options, { ...pages, documents: [document] }, signal)),
    );
  }

  function process(leaseToken: string, documents: ClaimedDocument[], signal: AbortSignal, start?: Promise<void>) {
    const batch: Batch = { leaseToken, stage: 'extracting', documents };
    return withRenewal(batch, async () => {
      await start;
      await processBatch(options, batch, signal);
    });
  }

  async function claim(): Promise<Batch> {
    const leaseToken = randomUUID();
    const documents = await claimDocuments(database, {
      limit: options.batchSize ?? 32,
      leaseToken,
      now: clock.now(),
      leaseUntil: leaseUntil(),
    });
    return { leaseToken, stage: 'extracting', documents };
  }

  /** Renews the lease while the batch is worked on; the renewal also publishes its stage. */
  async function withRenewal(batch: Batch, run: () => Promise<void>): Promise<void> {
    const done = new AbortController();
    const renewal = (async () => {
      while (!done.signal.aborted) {
        await clock.sleep(leaseMs / 3, done.signal);
        if (done.signal.aborted) return;
        const rows = batch.documents.map(({ id }) => ({ id, status: batch.stage }));
        await renewLeases(database, rows, { leaseToken: batch.leaseToken, leaseUntil: leaseUntil() }).catch(
          (error: unknown) => options.log.warn({ err: error }, 'lease renewal failed'),
        );
      }
    })();
    try {
      await run();
    } finally {
      done.abort();
      await renewal;
    }
  }

  return { drain, process };
}

function apart(batch: Batch): [Batch, Batch] {
  const isAddress = (document: ClaimedDocument) => document.kind === 'url';
  return [
    { ...batch, documents: batch.documents.filter(isAddress) },
    { ...batch, documents: batch.documents.filter((document) => !isAddress(document)) },
  ];
}

async function processBatch(options: ProcessorOptions, batch: Batch, signal: AbortSignal): Promise<void> {
  try {
    const works = await prepare(options, batch, signal);
    for (const group of inGroups(works)) {
      batch.stage = 'embedding';
      await embedAndWrite(options, batch, group, signal);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    const ids = batch.documents.map(({ id }) => id);
    await releaseLeases(options.database, batch.leaseToken, ids, options.clock.now());
  }
}

/** Short ones first, and written as soon as they are ready, so that none waits for the vectors of a book. */
function inGroups(works: readonly Work[]): Work[][] {
  const groups: Work[][] = [];
  let room = 0;
  for (const work of works.toSorted((left, right) => left.drafts.length - right.drafts.length)) {
    const group = groups.at(-1);
    if (group && work.drafts.length <= room) group.push(work);
    else {
      groups.push([work]);
      room = chunksAtOnce;
    }
    room -= work.drafts.length;
  }
  return groups;
}

/** Extracts and cuts each document; those that fail are marked and left out. */
async function prepare(options: ProcessorOptions, batch: Batch, signal: AbortSignal): Promise<Work[]> {
  const stored = await chunksByDocument(options, batch);
  const pause = createPauses();
  const preparing: Promise<Work | Failure>[] = [];
  for (const document of batch.documents) {
    await pause();
    signal.throwIfAborted();
    preparing.push(tryPrepare(options, document, stored.get(document.id) ?? [], signal));
  }
  const outcomes = await Promise.all(preparing);
  signal.throwIfAborted();
  batch.stage = 'embedding';
  await fail(
    options,
    batch,
    outcomes.filter((one) => 'error' in one),
  );
  return outcomes.filter((one): one is Work => !('error' in one));
}

interface Failure {
  document: ClaimedDocument;
  error: unknown;
}

async function tryPrepare(
  options: ProcessorOptions,
  document: ClaimedDocument,
  stored: StoredChunk[],
  signal: AbortSignal,
): Promise<Work | Failure> {
  try {
    if (document.attempts > maxClaims)
      throw new MemorydError('lost_worker', 'Workers keep dying while they process this.');
    return await prepareOne(options, document, stored, signal);
  } catch (error) {
    return { document, error };
  }
}

async function chunksByDocument(options: ProcessorOptions, batch: Batch): Promise<Map<string, StoredChunk[]>> {
  const processedBefore = batch.documents.filter((one) => one.text_hash !== null).map(({ id }) => id);
  if (processedBefore.length === 0) return new Map();
  return Map.groupBy(await storedChunks(options.database, processedBefore), (one) => one.document_id);
}

async function prepareOne(
  options: ProcessorOptions,
  document: ClaimedDocument,
  stored: StoredChunk[],
  signal: AbortSignal,
): Promise<Work> {
  const { embedder } = options;
  const extracted = await extractDocument(options, document, signal);
  const maxTokens = Math.min((await options.chunkTokens?.()) ?? 256, embedder.maxTokens);
  const title = document.given_title ?? extracted.title;
  const drafts = chunk(extracted.text, {
    format: extracted.format,
    maxTokens,
    overlapTokens: options.overlapTokens ?? Math.floor(maxTokens / 10),
    countTokens: (text) => embedder.countTokens(text),
    ...(title === null ? {} : { title }),
  });
  const usable = stored.filter((one) => one.embedding_model === embedder.id);
  return {
    document,
    extracted,
    textHash: hash('sha256', extracted.text, 'base64'),
    drafts: drafts.map((draft) => ({
      ...draft,
      hash: hash('sha256', withContext(draft.context, draft.content), 'base64'),
    })),
    kept: Map.groupBy(usable, (one) => one.content_hash),
    stored,
  };
}

async function embedAndWrite(
  options: ProcessorOptions,
  batch: Batch,
  works: Work[],
  signal: AbortSignal,
): Promise<void> {
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
  batch.stage = 'indexing';
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

async function write(options: ProcessorOptions, batch: Batch, works: readonly Work[], plan: Results): Promise<void> {
  const now = options.clock.now();
  await options.database.transaction(async (tx) => {
    const finished = await finishDocuments(tx, works.map(finishedDocument), { leaseToken: batch.leaseToken, now });
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
    if (plan.findings) await options.remembering?.store(tx, plan.findings);
  });
}

function finishedDocument({ document, extracted, textHash }: Work) {
  const sameAsSent = document.raw !== null && document.raw === extracted.text;
  return {
    id: document.id,
    revision: document.revision,
    title: extracted.title ?? document.file_name,
    type: document.type === 'text' || document.kind === 'url' ? extracted.type : document.type,
    og_image: ogImageOf(extracted),
    text_hash: textHash,
    content: sameAsSent ? null : extracted.text,
  };
}

function ogImageOf({ metadata }: Extracted): string | null {
  const image = metadata?.['image'];
  return typeof image === 'string' && image.length <= 2048 ? image : null;
}

/** Gives failed documents another time, or ends them with a reason. */
async function fail(options: ProcessorOptions, batch: Batch, failures: readonly Failure[]): Promise<void> {
  if (failures.length === 0) return;
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
