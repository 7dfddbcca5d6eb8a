import { paired, valueOf } from '../base/collections.ts';
import type { Clock } from '../base/clock.ts';
import type { Findings, Remembering } from '../memory/remember.ts';
import type { Embedder } from '../models/embedder.ts';
import { deleteChunks, insertChunks, moveChunks } from '../store/chunks.ts';
import type { Database, Transaction } from '../store/database.ts';
import { finishDocuments, finishVectors, finishWords } from '../store/processing.ts';
import { replaceVectors } from '../store/stored-vectors.ts';
import { queueSummaries } from '../store/summaries.ts';
import type { Extracted } from './extract/extracted.ts';
import type { Work, WritePlan } from './write-plan.ts';
import { writtenOf } from './written-by.ts';

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
    await afterwards(tx, options, new Set(finished.keys()), findings, now);
  });
}

/** Chunks without the vectors of what is new: the documents are found by their words. */
export async function writeWords(
  options: Writing,
  { leaseToken }: Held,
  works: readonly Work[],
  plan: WritePlan,
  { keepsLease }: { keepsLease: boolean },
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
    await afterwards(tx, options, finished, findings, now);
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
    const tag = written.get(one.document_id);
    if (tag === undefined) return [];
    return [{ ...one, container_tag: tag, embedding: vectorOf(one.id), embedding_model: model }];
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
  findings: Findings | null,
  now: Date,
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
