import type { Clock } from '../base/clock.ts';
import { newId } from '../base/ids.ts';
import type { Embedder } from '../models/embedder.ts';
import type { ChunkWrite, StoredChunk } from '../store/chunks.ts';
import type { ClaimedDocument } from '../store/processing.ts';
import { withContext } from './chunk/context.ts';
import { createPauses } from './pauses.ts';
import type { CutChunk, CutDocument } from './text/tasks.ts';

/** A document on its way: what was extracted, how it is cut, and what of it is already stored. */
export interface Work extends CutDocument {
  document: ClaimedDocument;
  /** Its text is what was sent, which is stored already. */
  isAsSent: boolean;
  kept: Map<string, StoredChunk[]>;
  stored: StoredChunk[];
}

interface Planning {
  embedder: Embedder;
  clock: Clock;
}

export interface WritePlan {
  inserts: Omit<ChunkWrite, 'container_tag'>[];
  moves: { id: string; documentId: string; position: number }[];
  deletes: { id: string; documentId: string }[];
}

const textsInCall = 256;

/** Matches cut pieces with stored chunks and computes vectors for the new ones, of all documents in one call. */
export async function planWrites(options: Planning, works: readonly Work[], signal: AbortSignal): Promise<WritePlan> {
  const moves: WritePlan['moves'] = [];
  const deletes: WritePlan['deletes'] = [];
  const fresh: Fresh[] = [];
  for (const work of works) {
    const documentId = work.document.id;
    const used = new Set<string>();
    for (const chunk of work.chunks) {
      const same = work.kept.get(chunk.hash)?.pop();
      if (!same) fresh.push({ documentId, chunk });
      else used.add(same.id);
      if (same && same.position !== chunk.position) moves.push({ id: same.id, documentId, position: chunk.position });
    }
    deletes.push(...work.stored.filter((one) => !used.has(one.id)).map(({ id }) => ({ id, documentId })));
  }
  const texts = fresh.map(({ chunk }) => withContext(chunk.context, chunk.content));
  const vectors: Float32Array[] = [];
  // The texts of a book in one call would keep those of all other documents waiting.
  for (let from = 0; from < texts.length; from += textsInCall) {
    const some = texts.slice(from, from + textsInCall);
    vectors.push(...(await options.embedder.embed(some, { kind: 'document', signal })));
  }
  return { inserts: await toInserts(options, fresh, vectors), moves, deletes };
}

type Fresh = { documentId: string; chunk: CutChunk };

async function toInserts(
  options: Planning,
  fresh: readonly Fresh[],
  vectors: readonly Float32Array[],
): Promise<WritePlan['inserts']> {
  const now = options.clock.now();
  const pause = createPauses();
  const inserts: WritePlan['inserts'] = [];
  for (const [index, { documentId, chunk }] of fresh.entries()) {
    await pause();
    inserts.push({
      id: newId(now),
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
      embedding: vectors[index]!,
      embedding_model: options.embedder.id,
    });
  }
  return inserts;
}
