import type { MatchingChunk, SearchResult } from './search.ts';

/** Chunks that are looked at, of all documents of the scope. */
export const matchingChunks = 100;
/** Of one memory. */
const maxChunks = 10;

/** Gives each memory the best of the found chunks that are of its documents. */
export function withChunks(memories: readonly SearchResult[], found: readonly SearchResult[]): SearchResult[] {
  const byDocument = Map.groupBy(found.flatMap(matchingChunk), ({ documentId }) => documentId);
  return memories.map((memory) => {
    const chunks = memory.documents.flatMap(({ id }) => byDocument.get(id) ?? []);
    return { ...memory, chunks: chunks.toSorted((a, b) => b.similarity - a.similarity).slice(0, maxChunks) };
  });
}

function matchingChunk({ text, position, similarity, documents }: SearchResult): MatchingChunk[] {
  const [document] = documents;
  return document && position !== null ? [{ content: text, documentId: document.id, position, similarity }] : [];
}
