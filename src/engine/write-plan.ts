import type { Clock } from '../base/clock.ts';
import { newId } from '../base/ids.ts';
import type { Embedder } from '../models/embedder.ts';
import type { ChunkWrite, StoredChunk } from '../store/chunks.ts';
import type { ClaimedDocument } from '../store/processing.ts';
import type { ChunkDraft } from './chunk/chunk.ts';
import { withContext } from './chunk/context.ts';
import type { Extracted } from './extract/extracted.ts';
import { createPauses } from './pauses.ts';
import { terms } from './terms.ts';

/** A document on its way: what was extracted, how it is cut, and what of it is already stored. */
export interface Work {
  document: ClaimedDocument;
  extracted: Extracted;
  textHash: string;
  drafts: (ChunkDraft & { hash: string })[];
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

/** Matches cut pieces with stored chunks and computes vectors for the new ones, of all documents in one call. */
export async function planWrites(options: Planning, works: readonly Work[], signal: AbortSignal): Promise<WritePlan> {
  const moves: WritePlan['moves'] = [];
  const deletes: WritePlan['deletes'] = [];
  const fresh: Fresh[] = [];
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
  return { inserts: await toInserts(options, fresh, texts, vectors), moves, deletes };
}

type Fresh = { documentId: string; draft: Work['drafts'][number] };

async function toInserts(
  options: Planning,
  fresh: readonly Fresh[],
  texts: readonly string[],
  vectors: readonly Float32Array[],
): Promise<WritePlan['inserts']> {
  const now = options.clock.now();
  const pause = createPauses();
  const inserts: WritePlan['inserts'] = [];
  for (const [index, { documentId, draft }] of fresh.entries()) {
    await pause();
    const lexical = terms(texts[index]!);
    inserts.push({
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
    });
  }
  return inserts;
}
