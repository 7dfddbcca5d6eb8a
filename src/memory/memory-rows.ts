import { hash } from 'node:crypto';
import { at } from '../base/collections.ts';
import type { Embedder } from '../models/embedder.ts';
import type { MemoryWrite } from '../store/memories.ts';
import { normalized } from '../base/normalized.ts';

/** How texts are indexed for search by words. */
export type Indexer = (text: string) => { terms: string[]; counts: number[]; total: number; languages: string[] };

/** Equal for texts that differ only in case and white space. */
export function memoryHash(text: string): string {
  return hash('sha256', normalized(text, 'NFKC').toLowerCase().replace(/\s+/g, ' ').trim(), 'base64');
}

/** Equal for texts with the same words, in whatever order and form. */
export function wordsHashOf(text: string, terms: readonly string[]): string {
  // Terms leave out what says little; numbers, names and negations are compared as they stand.
  const words = text.match(/\b(?:\p{Lu}[\p{L}\p{N}]*|[\p{L}]*\d[\p{L}\p{N}.,:-]*|not|no|never|\p{L}+n['’]t)\b/gu) ?? [];
  const weighty = [...new Set(words.map((word) => word.toLowerCase()))].sort();
  return hash('sha256', `${[...terms].sort().join(' ')}\n${weighty.join(' ')}`, 'base64');
}

export type IndexedText = Pick<
  MemoryWrite,
  | 'memory'
  | 'contentHash'
  | 'wordsHash'
  | 'terms'
  | 'termCounts'
  | 'termTotal'
  | 'languages'
  | 'embedding'
  | 'embeddingModel'
>;

/** The texts with all that search needs; one call of the model for all of them. */
export async function indexTexts(
  texts: readonly string[],
  { embedder, index, signal }: { embedder: Embedder; index: Indexer; signal?: AbortSignal },
): Promise<IndexedText[]> {
  if (texts.length === 0) return [];
  const vectors = await embedder.embed(texts, { kind: 'document', signal });
  return texts.map((memory, place) => {
    const { terms, counts, total, languages } = index(memory);
    return {
      memory,
      contentHash: memoryHash(memory),
      wordsHash: wordsHashOf(memory, terms),
      terms,
      termCounts: counts,
      termTotal: total,
      languages,
      embedding: at(vectors, place),
      embeddingModel: embedder.id,
    };
  });
}
