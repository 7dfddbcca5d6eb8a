import { paired, valueOf } from '../base/collections.ts';
import type { Clock } from '../base/clock.ts';
import type { Findings, Remembering } from '../memory/remember.ts';
import type { Embedder } from '../models/embedder.ts';
import {
  deleteChunks,
  insertChunks,
  moveChunks,
  type ChunkWrite,
  type StoredChunk,
} from '../store/document-contents.ts';
import type { Database, Transaction } from '../store/database.ts';
import { finishDocuments, finishVectors, finishWords, type ClaimedDocument } from '../store/processing.ts';
import { replaceVectors } from '../store/stored-vectors.ts';
import { queueSummaries } from '../store/summaries.ts';
import type { Extracted } from './extract/extracted.ts';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { newId } from '../base/ids.ts';
import { withContext } from './chunk/chunk.ts';
import type { CutChunk, CutDocument } from './text/text-worker.ts';

export interface Writing {
  database: Database;
  embedder: Embedder;
  /** Absent: no memories are made. */
  remembering?: Remembering;
  /** Documents wait for titles and summaries once they are done. */
  summarizes?: boolean;
  clock: Clock;
}

interface Held {
  leaseToken: string;
}

/** All that models make of documents. */
export interface Results {
  plan: WritePlan;
  /** In the order of `plan.toEmbed`. */
  vectors: readonly Float32Array[];
  findings: Findings | null;
}

/** Chunks with their vectors, and memories: the documents are done. */
export async function writeAll(
  options: Writing,
  { leaseToken }: Held,
  works: readonly Work[],
  { plan, vectors, findings }: Results,
): Promise<void> {
  const { database, embedder, clock } = options;
  const now = clock.now();
  const memories = options.remembering !== undefined;
  const vectorOf = new Map(paired(plan.toEmbed, vectors).map(([{ id }, vector]) => [id, vector]));
  await database.transaction(async (tx) => {
    const finished = await finishDocuments(tx, works.map(finishedDocument), { leaseToken, now, memories });
    await writeChunks(tx, plan, finished, { now, model: embedder.id, vectorOf: (id) => valueOf(vectorOf, id) });
    const inserted = new Set(plan.inserts.map(({ id }) => id));
    const stored = plan.toEmbed.filter((one) => !inserted.has(one.id) && finished.has(one.documentId));
    const embedded = stored.map(({ id }) => ({ id, embedding: valueOf(vectorOf, id) }));
    if (embedded.length > 0) await replaceVectors(tx, 'chunks', embedder.id, embedded);
    await afterwards(tx, options, new Set(finished.keys()), { findings, now });
  });
}

/** Chunks without the vectors of what is new: the documents are found by their words. */
export async function writeWords(
  options: Writing,
  { leaseToken }: Held,
  works: readonly Work[],
  { plan, keepsLease }: { plan: WritePlan; keepsLease: boolean },
): Promise<void> {
  const now = options.clock.now();
  await options.database.transaction(async (tx) => {
    const written = await finishWords(tx, works.map(finishedDocument), { leaseToken, now, keepsLease });
    await writeChunks(tx, plan, written, { now, model: null, vectorOf: () => null });
  });
}

/** The vectors of documents that have their words, and memories: they are done. */
export async function writeVectors(
  options: Writing,
  { leaseToken }: Held,
  works: readonly { document: { id: string; revision: number } }[],
  { plan, vectors, findings }: Pick<Results, 'vectors' | 'findings'> & { plan: Pick<WritePlan, 'toEmbed'> },
): Promise<void> {
  const { database, embedder, clock } = options;
  const now = clock.now();
  const documents = works.map(({ document }) => document);
  const embedded = paired(plan.toEmbed, vectors).map(([{ id }, embedding]) => ({ id, embedding }));
  await database.transaction(async (tx) => {
    if (embedded.length > 0) await replaceVectors(tx, 'chunks', embedder.id, embedded);
    const memories = options.remembering !== undefined;
    const finished = await finishVectors(tx, documents, { leaseToken, now, memories });
    await afterwards(tx, options, finished, { findings, now });
  });
}

interface NewChunks {
  now: Date;
  model: string | null;
  vectorOf(id: string): Float32Array | null;
}

/** Only those of documents in `written`, with the container that these are in now. */
async function writeChunks(
  tx: Transaction,
  plan: WritePlan,
  written: ReadonlyMap<string, string>,
  { now, model, vectorOf }: NewChunks,
): Promise<void> {
  const deletes = plan.deletes.filter((one) => written.has(one.documentId)).map(({ id }) => id);
  const moves = plan.moves.filter((one) => written.has(one.documentId));
  const inserts = plan.inserts.flatMap((one) => {
    const tag = written.get(one.documentId);
    if (tag === undefined) return [];
    return [{ ...one, containerTag: tag, embedding: vectorOf(one.id), embeddingModel: model }];
  });
  if (deletes.length > 0) await deleteChunks(tx, deletes);
  if (moves.length > 0)
    await moveChunks(
      tx,
      moves.map(({ id, position }) => ({ id, position })),
    );
  if (inserts.length > 0) await insertChunks(tx, inserts, now);
}

async function afterwards(
  tx: Transaction,
  { summarizes, remembering }: Writing,
  finished: ReadonlySet<string>,
  { findings, now }: { findings: Findings | null; now: Date },
): Promise<void> {
  if (summarizes) await queueSummaries(tx, [...finished], now);
  if (findings) await remembering?.store(tx, findingsOf(findings, finished));
}

/** Without those of documents that another worker has: it finds them as well. */
function findingsOf(findings: Findings, finished: ReadonlySet<string>): Findings {
  return { ...findings, documents: findings.documents.filter(({ id }) => finished.has(id)) };
}

function finishedDocument({ document, extracted, textHash, isTranscript, chunks, isAsSent }: Work) {
  const { author, writtenAt } = writtenOf(extracted);
  return {
    id: document.id,
    revision: document.revision,
    title: extracted.title ?? document.fileName,
    type: document.type === 'text' || document.kind === 'url' ? extracted.type : document.type,
    ogImage: ogImageOf(extracted),
    textHash,
    author,
    writtenAt,
    isTranscript,
    chunkStarts: chunks.map(({ start }) => start),
    chunkEnds: chunks.map(({ end }) => end),
    content: isAsSent ? null : extracted.text,
  };
}

function ogImageOf({ metadata }: Extracted): string | null {
  const image = metadata?.['image'];
  return typeof image === 'string' && image.length <= 2048 ? image : null;
}

/** The author and date of a text: from the header of a mail or the front matter of a text. Pages may name anybody. */
export function writtenOf({ text, format, metadata }: Extracted): { author: string | null; writtenAt: Date | null } {
  const { author, from, date } = metadata ?? {};
  if (typeof from === 'string') {
    return { author: from === '' ? null : from, writtenAt: typeof date === 'string' ? dateOf(date) : null };
  }
  const isTold = format === 'markdown' && text.startsWith('---') && typeof author === 'string' && author !== '';
  return { author: isTold ? author : null, writtenAt: null };
}

function dateOf(text: string): Date | null {
  const date = new Date(text);
  return Number.isNaN(date.getTime()) ? null : date;
}

/** A document on its way: what was extracted, how it is cut, and what of it is already stored. */
export interface Work extends CutDocument {
  document: ClaimedDocument;
  /** Its text is what was sent, which is stored already. */
  isAsSent: boolean;
  stored: StoredChunk[];
}

/** Turns the stored chunks of documents into those of their new texts. */
export interface WritePlan {
  inserts: Omit<ChunkWrite, 'containerTag' | 'embedding' | 'embeddingModel'>[];
  moves: { id: string; documentId: string; position: number }[];
  deletes: { id: string; documentId: string }[];
  /** Chunks whose vectors are to be made: those that are inserted, then those that are stored without one. */
  toEmbed: ChunkToEmbed[];
}

interface ChunkToEmbed {
  id: string;
  documentId: string;
  text: string;
}

const textsInCall = 256;

/** Matches cut pieces with stored chunks, those that have their vector first. */
export async function planWrites(
  { embedder, clock }: { embedder: Embedder; clock: Clock },
  works: readonly Work[],
): Promise<WritePlan> {
  const plan: WritePlan = { inserts: [], moves: [], deletes: [], toEmbed: [] };
  const stored: ChunkToEmbed[] = [];
  const pause = createPauses();
  const now = clock.now();
  for (const work of works) {
    const documentId = work.document.id;
    const hasVector = (chunk: StoredChunk) => chunk.embeddingModel === embedder.id;
    const kept = Map.groupBy(
      work.stored.toSorted((a, b) => Number(hasVector(a)) - Number(hasVector(b))),
      (one) => one.contentHash,
    );
    const used = new Set<string>();
    for (const chunk of work.chunks) {
      await pause();
      const same = kept.get(chunk.hash)?.pop();
      const id = same?.id ?? newId(now);
      const toEmbed = { id, documentId, text: withContext(chunk.context, chunk.content) };
      if (!same) {
        plan.inserts.push(insertOf(id, documentId, chunk));
        plan.toEmbed.push(toEmbed);
        continue;
      }
      used.add(id);
      if (!hasVector(same)) stored.push(toEmbed);
      if (same.position !== chunk.position) plan.moves.push({ id, documentId, position: chunk.position });
    }
    plan.deletes.push(...work.stored.filter((one) => !used.has(one.id)).map(({ id }) => ({ id, documentId })));
  }
  plan.toEmbed.push(...stored);
  return plan;
}

function insertOf(id: string, documentId: string, chunk: CutChunk): WritePlan['inserts'][number] {
  return {
    id,
    documentId,
    position: chunk.position,
    content: chunk.content,
    context: chunk.context,
    type: chunk.type,
    tokenCount: chunk.tokenCount,
    contentHash: chunk.hash,
    terms: chunk.terms,
    termCounts: chunk.termCounts,
    termTotal: chunk.termTotal,
    languages: chunk.languages,
  };
}

/** One vector for each text, in order; equal texts are computed once. */
export async function embedTexts(
  { embedder, pace }: { embedder: Embedder; pace: Pace },
  texts: readonly string[],
  signal: AbortSignal,
): Promise<Float32Array[]> {
  const unique = [...new Set(texts)];
  const vectors = new Map<string, Float32Array>();
  // The texts of a book in one call would keep those of all other documents waiting.
  for (let from = 0; from < unique.length; from += textsInCall) {
    const some = unique.slice(from, from + textsInCall);
    const made = await pace.measure(some.length, () => embedder.embed(some, { kind: 'document', signal }));
    for (const [text, vector] of paired(some, made)) vectors.set(text, vector);
  }
  return texts.map((text) => valueOf(vectors, text));
}

const everyMs = 1;

/**
 * For work that fills the event loop: to be awaited between its steps. Lets everything else have its turn
 * once a millisecond, so that requests are answered and statements of others sent meanwhile.
 */
export function createPauses(): () => Promise<void> | undefined {
  let last = performance.now();
  async function pause(): Promise<void> {
    await nextTurn();
    last = performance.now();
  }
  return () => (performance.now() - last < everyMs ? undefined : pause());
}

/** How long vectors take, as it shows: whether documents are kept waiting for theirs depends on it. */
export interface Pace {
  /** Milliseconds until the vectors of so many more texts would be there; 0 while nothing is known. */
  expectedMs(texts: number): number;
  /** Texts whose vectors take so long when no others wait; Infinity while nothing is known. */
  textsIn(ms: number): number;
  /** Makes a call for the vectors of so many texts, and learns from it. */
  measure<Result>(texts: number, call: () => Promise<Result>): Promise<Result>;
}

interface Call {
  startedMs: number;
  /** Its own and those that were asked for before it: a model works on one after the other. */
  texts: number;
}

export function createPace(clock: Clock): Pace {
  const underWay = new Set<Call>();
  let waiting = 0;
  /** Sums over all calls, each with half the weight of the next one. */
  let known = { ms: 0, texts: 0 };

  const msSince = ({ startedMs }: Call) => clock.now().getTime() - startedMs;

  /** A call that has not ended takes at least as long as it has taken so far. */
  function msPerText(): number {
    const seen = known.texts === 0 ? 0 : known.ms / known.texts;
    return Math.max(seen, ...[...underWay].map((call) => msSince(call) / call.texts));
  }

  return {
    expectedMs: (texts) => (waiting + texts) * msPerText(),
    textsIn: (ms) => ms / msPerText(),
    async measure(texts, make) {
      if (texts === 0) return make();
      waiting += texts;
      const call = { startedMs: clock.now().getTime(), texts: waiting };
      underWay.add(call);
      try {
        const result = await make();
        known = { ms: known.ms / 2 + msSince(call), texts: known.texts / 2 + call.texts };
        return result;
      } finally {
        waiting -= texts;
        underWay.delete(call);
      }
    },
  };
}
