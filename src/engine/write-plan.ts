import { setImmediate as nextTurn } from 'node:timers/promises';
import { paired, valueOf } from '../base/collections.ts';
import type { Clock } from '../base/clock.ts';
import { newId } from '../base/ids.ts';
import type { Embedder } from '../models/embedder.ts';
import type { ChunkWrite, StoredChunk } from '../store/chunks.ts';
import type { ClaimedDocument } from '../store/processing.ts';
import { withContext } from './chunk/context.ts';
import type { Pace } from './pace.ts';
import type { CutChunk, CutDocument } from './text/tasks.ts';

/** A document on its way: what was extracted, how it is cut, and what of it is already stored. */
export interface Work extends CutDocument {
  document: ClaimedDocument;
  /** Its text is what was sent, which is stored already. */
  isAsSent: boolean;
  stored: StoredChunk[];
}

/** Turns the stored chunks of documents into those of their new texts. */
export interface WritePlan {
  inserts: Omit<ChunkWrite, 'container_tag' | 'embedding' | 'embedding_model'>[];
  moves: { id: string; documentId: string; position: number }[];
  deletes: { id: string; documentId: string }[];
  /** Chunks whose vectors are to be made: those that are inserted, then those that are stored without one. */
  toEmbed: ChunkToEmbed[];
}

export interface ChunkToEmbed {
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
    const hasVector = (chunk: StoredChunk) => chunk.embedding_model === embedder.id;
    const kept = Map.groupBy(
      work.stored.toSorted((a, b) => Number(hasVector(a)) - Number(hasVector(b))),
      (one) => one.content_hash,
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
    document_id: documentId,
    position: chunk.position,
    content: chunk.content,
    context: chunk.context,
    type: chunk.type,
    token_count: chunk.tokenCount,
    content_hash: chunk.hash,
    terms: chunk.terms,
    term_counts: chunk.termCounts,
    term_total: chunk.termTotal,
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
