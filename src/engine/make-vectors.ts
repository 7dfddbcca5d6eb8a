import { randomUUID } from 'node:crypto';
import { paired } from '../base/collections.ts';
import { caught } from '../base/concurrency.ts';
import type { Findings } from '../memory/remember.ts';
import { minedDocuments } from '../store/dreaming.ts';
import { releaseLeases, suspectAfter } from '../store/processing.ts';
import {
  replaceVectors,
  adoptVectors,
  chunksWithoutVector,
  claimForVectors,
  documentsWithVectors,
  type ChunkWithoutVector,
  type WordedDocument,
} from '../store/stored-vectors.ts';
import { withContext } from './chunk/chunk.ts';
import { fail, mayBePoisoned, requireHarmless, withRenewal, type Renewing } from './document-leases.ts';
import { embedTexts, writeVectors, type Pace, type Writing } from './write-batch.ts';

export interface VectorWorkOptions extends Writing, Renewing {
  pace: Pace;
  redrivesMs?: number[] | undefined;
}

/** Makes the vectors of documents that are found by their words already. */
export interface VectorWork {
  /** Goes on until none is left; at once when that is under way already, with what is there by now. */
  start(signal: AbortSignal): Promise<void>;
}

/** One is written and the next one read while the model works on another. */
const workers = 2;
const documentsInRound = 32;
/** New documents wait no longer for a round, and a call is not so small that it costs more than its texts. */
const turnMs = 2_000;
const [fewestChunks, mostChunks] = [16, 256];

/**
 * Works in rounds: each claims documents, makes some of their vectors and gives back what is not done with that, so
 * that a book keeps no note waiting and what is made of it is kept.
 */
export function createVectorWork(options: VectorWorkOptions): VectorWork {
  let isRunning = false;
  let isAskedAgain = false;

  return {
    async start(signal) {
      isAskedAgain = true;
      if (isRunning) return;
      isRunning = true;
      try {
        while (isAskedAgain && !signal.aborted) {
          isAskedAgain = false;
          await workInRounds(options, signal);
        }
      } finally {
        isRunning = false;
      }
    },
  };
}

/** Until nothing is left. Documents that workers were lost with are worked on while nothing else is. */
async function workInRounds(options: VectorWorkOptions, signal: AbortSignal): Promise<void> {
  const underWay = new Set<Promise<void>>();
  let claiming: Promise<unknown> = Promise.resolve();
  let mayBeLeft = true;

  /** Null when nothing is left. */
  async function begin(): Promise<{ ended: Promise<void> } | null> {
    if (!mayBeLeft) return null;
    // Before the claim: a round that ends meanwhile says that there is more.
    mayBeLeft = false;
    const round = await claimRound(options);
    if (!round) return null;
    mayBeLeft = true;
    const isSuspect = round.held.documents.some(({ lostWorkers }) => lostWorkers >= suspectAfter);
    const ended = caught(runRound(options, round, isSuspect ? Promise.allSettled(underWay) : undefined, signal));
    underWay.add(ended);
    const end = () => {
      underWay.delete(ended);
      // What a round does not finish it gives back.
      mayBeLeft = true;
    };
    ended.then(end, end);
    if (isSuspect) await ended;
    return { ended };
  }

  async function work(): Promise<void> {
    while (!signal.aborted) {
      const begun = claiming.then(begin);
      claiming = caught(begun).catch(() => {});
      const round = await begun;
      if (!round) return;
      await round.ended;
    }
  }

  const ends = await Promise.allSettled(Array.from({ length: workers }, work));
  const failed = ends.find((end) => end.status === 'rejected');
  if (failed) throw failed.reason;
}

interface Held {
  leaseToken: string;
  documents: WordedDocument[];
  stages: Map<string, string>;
}

interface Round {
  held: Held;
  /** Chunks whose vectors are made. */
  limit: number;
}

async function claimRound({ database, clock, leaseMs, pace }: VectorWorkOptions): Promise<Round | null> {
  const chunks = Math.round(Math.min(Math.max(pace.textsIn(turnMs), fewestChunks), mostChunks));
  const leaseToken = randomUUID();
  const now = clock.now();
  const leaseUntil = new Date(now.getTime() + leaseMs);
  const claim = { documents: documentsInRound, chunks, leaseToken, now, leaseUntil };
  const documents = await claimForVectors(database, claim);
  if (documents.length === 0) return null;
  const stages = new Map(documents.map(({ id, status }) => [id, status]));
  return { held: { leaseToken, documents, stages }, limit: chunks };
}

function runRound(
  options: VectorWorkOptions,
  { held, limit }: Round,
  after: Promise<unknown> | undefined,
  signal: AbortSignal,
): Promise<void> {
  return withRenewal(options, held, async () => {
    await after;
    await makeRound(options, held, limit, signal);
  });
}

async function makeRound(options: VectorWorkOptions, held: Held, limit: number, signal: AbortSignal): Promise<void> {
  const { database, embedder, clock } = options;
  try {
    const documents = await withoutHarmful(options, held);
    const ids = documents.map(({ id }) => id);
    await adoptVectors(database, ids, embedder.id);
    const chunks = await chunksWithoutVector(database, ids, embedder.id, limit);
    const failed = await embed(options, held, { documents, chunks }, signal);
    const left = documents.filter((one) => !failed.has(one));
    await finish(options, held, left, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    const ids = held.documents.map(({ id }) => id);
    await releaseLeases(database, held.leaseToken, ids, clock.now());
  }
}

async function withoutHarmful(options: VectorWorkOptions, held: Held): Promise<WordedDocument[]> {
  const harmless: WordedDocument[] = [];
  for (const document of held.documents) {
    try {
      requireHarmless(document);
      harmless.push(document);
    } catch (error) {
      await fail(options, held, [{ document, error }]);
    }
  }
  return harmless;
}

/** Answers the documents that failed. Vectors belong to a text that never changes, so they are kept whatever becomes of these. */
async function embed(
  options: VectorWorkOptions,
  held: Held,
  { documents, chunks }: { documents: readonly WordedDocument[]; chunks: readonly ChunkWithoutVector[] },
  signal: AbortSignal,
): Promise<Set<WordedDocument>> {
  if (chunks.length === 0) return new Set();
  const concerned = documents.filter(({ id }) => chunks.some(({ documentId }) => documentId === id));
  try {
    const texts = chunks.map(({ context, content }) => withContext(context, content));
    const vectors = await embedTexts(options, texts, signal);
    const rows = paired(chunks, vectors).map(([{ id }, embedding]) => ({ id, embedding }));
    await replaceVectors(options.database, 'chunks', options.embedder.id, rows);
    return new Set();
  } catch (error) {
    if (signal.aborted) throw error;
    if (concerned.length > 1 && mayBePoisoned(error)) {
      const failed = new Set<WordedDocument>();
      for (const one of concerned) {
        const own = { documents: [one], chunks: chunks.filter(({ documentId }) => documentId === one.id) };
        for (const other of await embed(options, held, own, signal)) failed.add(other);
      }
      return failed;
    }
    await fail(
      options,
      held,
      concerned.map((document) => ({ document, error })),
    );
    return new Set(concerned);
  }
}

/** Completes documents that have all their vectors. */
async function finish(
  options: VectorWorkOptions,
  held: Held,
  documents: readonly WordedDocument[],
  signal: AbortSignal,
): Promise<void> {
  const ids = documents.map(({ id }) => id);
  const complete = await documentsWithVectors(options.database, ids, options.embedder.id);
  const works = documents.filter(({ id }) => complete.has(id)).map((document) => ({ document }));
  if (works.length === 0) return;
  const findings = await findInstant(options, works, signal);
  await writeVectors(options, held, works, { plan: { toEmbed: [] }, vectors: [], findings });
}

async function findInstant(
  { database, remembering }: VectorWorkOptions,
  works: readonly { document: WordedDocument }[],
  signal: AbortSignal,
): Promise<Findings | null> {
  const ids = works.filter(({ document }) => document.dreaming === 'instant').map(({ document }) => document.id);
  if (!remembering || ids.length === 0) return null;
  return remembering.find(await minedDocuments(database, ids), signal);
}
