import { hash, randomUUID } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { MemorydError } from '../base/errors.ts';
import { newId } from '../base/ids.ts';
import type { Logger } from '../base/log.ts';
import type { Embedder } from '../models/embedder.ts';
import {
  deleteChunks,
  insertChunks,
  moveChunks,
  storedChunks,
  type ChunkWrite,
  type StoredChunk,
} from '../store/chunks.ts';
import type { Database } from '../store/database.ts';
import {
  claimDocuments,
  failDocuments,
  finishDocuments,
  releaseLeases,
  renewLeases,
  type ClaimedDocument,
} from '../store/processing.ts';
import { chunk, type ChunkDraft } from './chunk/chunk.ts';
import { withContext } from './chunk/context.ts';
import type { Extracted } from './extract/extracted.ts';
import type { Extractor } from './extract/extractor.ts';
import { nextAttempt } from './retry.ts';
import { terms } from './terms.ts';

export interface ProcessorOptions {
  database: Database;
  embedder: Embedder;
  extractor: Extractor;
  clock: Clock;
  log: Logger;
  /** Documents claimed at once. Default 32. */
  batchSize?: number;
  /** How long a dead worker keeps its documents. Default 30,000. */
  leaseMs?: number;
  /** Tokens of a chunk; at most what the embedder takes. */
  chunkTokens?: number;
  overlapTokens?: number;
}

export interface Processor {
  /** Processes documents that are held under a lease, keeping it alive from this call on; `start` delays the work. */
  process(leaseToken: string, documents: ClaimedDocument[], signal: AbortSignal, start?: Promise<void>): Promise<void>;
  /** Claims and processes batches until nothing is due or the signal aborts. Returns how many were claimed. */
  drain(signal: AbortSignal): Promise<number>;
}

/** A document that took this many workers with it is not given to another one. */
const maxClaims = 25;

type Stage = 'extracting' | 'chunking' | 'embedding' | 'indexing';

interface Batch {
  leaseToken: string;
  stage: Stage;
  documents: ClaimedDocument[];
}

/** A document on its way: what was extracted, how it is cut, and what of it is already stored. */
interface Work {
  document: ClaimedDocument;
  extracted: Extracted;
  textHash: string;
  drafts: (ChunkDraft & { hash: string })[];
  kept: Map<string, StoredChunk[]>;
  stored: StoredChunk[];
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
    let claimed = 0;
    while (!signal.aborted) {
      const batch = await claim();
      if (batch.documents.length === 0) break;
      claimed += batch.documents.length;
      await withRenewal(batch, () => processBatch(options, batch, signal));
    }
    return claimed;
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

async function processBatch(options: ProcessorOptions, batch: Batch, signal: AbortSignal): Promise<void> {
  try {
    const works = await prepare(options, batch, signal);
    if (works.length === 0) return;
    await embedAndWrite(options, batch, works, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
    const ids = batch.documents.map(({ id }) => id);
    await releaseLeases(options.database, batch.leaseToken, ids, options.clock.now());
  }
}

/** Extracts and cuts each document; those that fail are marked and left out. */
async function prepare(options: ProcessorOptions, batch: Batch, signal: AbortSignal): Promise<Work[]> {
  const stored = await chunksByDocument(options, batch);
  const outcomes = await Promise.all(
    batch.documents.map(async (document) => {
      try {
        if (document.attempts > maxClaims)
          throw new MemorydError('lost_worker', 'Workers keep dying while they process this.');
        return await prepareOne(options, document, stored.get(document.id) ?? [], signal);
      } catch (error) {
        if (signal.aborted) throw error;
        return { document, error };
      }
    }),
  );
  batch.stage = 'embedding';
  await fail(
    options,
    batch,
    outcomes.filter((one) => 'error' in one),
  );
  return outcomes.filter((one): one is Work => !('error' in one));
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
  const extracted = await extractDocument(options.extractor, document, signal);
  const maxTokens = Math.min(options.chunkTokens ?? 256, embedder.maxTokens);
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

function extractDocument(extractor: Extractor, document: ClaimedDocument, signal: AbortSignal): Promise<Extracted> {
  const { kind, raw, bytes, mime_type: mimeType, file_name: name } = document;
  if (kind === 'url') throw new MemorydError('fetch_blocked', 'Fetching web pages is not available yet.');
  if (kind !== 'file')
    return extractor.extract({ kind: kind as 'text' | 'markdown' | 'html', text: raw ?? '' }, { signal });
  const file = bytes ?? (raw === null ? null : Buffer.from(raw));
  // The bytes of a synced file are dropped once its text is taken; then only its fields are processed again.
  if (file === null) return extractor.extract({ kind: 'markdown', text: document.content ?? '' }, { signal });
  const named = { ...(mimeType === null ? {} : { mimeType }), ...(name === null ? {} : { name }) };
  return extractor.extract({ kind: 'file', bytes: file, ...named }, { signal });
}

async function embedAndWrite(
  options: ProcessorOptions,
  batch: Batch,
  works: Work[],
  signal: AbortSignal,
): Promise<void> {
  let plan: WritePlan;
  try {
    plan = await planWrites(options, works, signal);
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
    await write(options, batch, works, plan);
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

interface WritePlan {
  inserts: Omit<ChunkWrite, 'container_tag'>[];
  moves: { id: string; documentId: string; position: number }[];
  deletes: { id: string; documentId: string }[];
}

/** Matches cut pieces with stored chunks and computes vectors for the new ones, of all documents in one call. */
async function planWrites(options: ProcessorOptions, works: readonly Work[], signal: AbortSignal): Promise<WritePlan> {
  const moves: WritePlan['moves'] = [];
  const deletes: WritePlan['deletes'] = [];
  const fresh: { documentId: string; draft: Work['drafts'][number] }[] = [];
  for (const work of works) {
    const documentId = work.document.id;
    const used = new Set<string>();
    for (const draft of work.drafts) {
      const same = work.kept.get(draft.hash)?.pop();
      if (!same) fresh.push({ documentId, draft });
      else used.add(same.id);
      if (same && same.position !== draft.position) moves.push({ id: same.id, documentId, position: draft.position });
    }
    deletes.push(...work.stored.filter((one) => !used.has(one.id)).map(({ id }) => ({ id, documentId })));
  }
  const texts = fresh.map(({ draft }) => withContext(draft.context, draft.content));
  const vectors = texts.length === 0 ? [] : await options.embedder.embed(texts, { kind: 'document', signal });
  const now = options.clock.now();
  const inserts = fresh.map(({ documentId, draft }, index) => {
    const lexical = terms(texts[index]!);
    return {
      id: newId(now),
      document_id: documentId,
      position: draft.position,
      content: draft.content,
      context: draft.context,
      token_count: draft.tokenCount,
      content_hash: draft.hash,
      terms: lexical.terms,
      term_counts: lexical.counts,
      term_total: lexical.total,
      embedding: vectors[index]!,
      embedding_model: options.embedder.id,
    };
  });
  return { inserts, moves, deletes };
}

async function write(options: ProcessorOptions, batch: Batch, works: readonly Work[], plan: WritePlan): Promise<void> {
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
  });
}

function finishedDocument({ document, extracted, textHash }: Work) {
  const sameAsSent = document.raw !== null && document.raw === extracted.text;
  return {
    id: document.id,
    revision: document.revision,
    title: extracted.title ?? document.file_name,
    type: document.type === 'text' ? extracted.type : document.type,
    text_hash: textHash,
    content: sameAsSent ? null : extracted.text,
  };
}

/** Gives failed documents another time, or ends them with a reason. */
async function fail(
  options: ProcessorOptions,
  batch: Batch,
  failures: readonly { document: ClaimedDocument; error: unknown }[],
): Promise<void> {
  if (failures.length === 0) return;
  const now = options.clock.now();
  const rows = failures.map(({ document, error }) => {
    const row = { id: document.id, ...nextAttempt(error, document, now) };
    const unexpected = !MemorydError.is(error);
    options.log[unexpected ? 'error' : 'debug'](
      { documentId: row.id, code: row.error_code, status: row.status, ...(unexpected ? { err: error } : {}) },
      'document not processed',
    );
    return row;
  });
  await failDocuments(options.database, rows, { leaseToken: batch.leaseToken, now });
}
