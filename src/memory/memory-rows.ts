import { hash } from 'node:crypto';
import type { Embedder } from '../models/embedder.ts';
import type { MemoryWrite } from '../store/memories.ts';

/** How texts are indexed for search by words. */
export type Indexer = (text: string) => { terms: string[]; counts: number[]; total: number };

/** Equal for texts that differ only in case and white space. */
export function memoryHash(text: string): string {
  return hash('sha256', text.normalize('NFKC').toLowerCase().replace(/\s+/g, ' ').trim(), 'base64');
}

export type IndexedText = Pick<
  MemoryWrite,
  'memory' | 'content_hash' | 'terms' | 'term_counts' | 'term_total' | 'embedding' | 'embedding_model'
>;

/** The texts with all that search needs; one call of the model for all of them. */
export async function indexTexts(
  texts: readonly string[],
  { embedder, index, signal }: { embedder: Embedder; index: Indexer; signal?: AbortSignal },
): Promise<IndexedText[]> {
  if (texts.length === 0) return [];
  const vectors = await embedder.embed(texts, { kind: 'document', ...(signal && { signal }) });
  return texts.map((memory, place) => {
    const { terms, counts, total } = index(memory);
    return {
      memory,
      content_hash: memoryHash(memory),
      terms,
      term_counts: counts,
      term_total: total,
      embedding: vectors[place]!,
      embedding_model: embedder.id,
    };
  });
}
