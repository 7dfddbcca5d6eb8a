import type { ContextEntry, MatchingChunk, MemoryContext, ResultDocument, SearchResult } from '../../search/search.ts';
import type { SearchResultAnswer } from '../schemas/search.ts';
import { publicMetadata } from './metadata.ts';

export interface ResultParts {
  documents: boolean;
  summaries: boolean;
}

/** Section 14. */
export function searchResultView(result: SearchResult, parts: ResultParts): SearchResultAnswer {
  const { id, similarity, version, filepath } = result;
  return {
    id,
    similarity,
    filepath,
    ...(result.kind === 'memory'
      ? { memory: result.text, version, rootMemoryId: result.rootMemoryId }
      : { chunk: result.text, version: null }),
    metadata: result.metadata && publicMetadata(result.metadata),
    updatedAt: result.updatedAt.toISOString(),
    ...(result.chunks && { chunks: result.chunks.map(chunkView) }),
    ...(result.context && { context: contextView(result.context) }),
    ...(parts.documents && { documents: result.documents.map((document) => resultDocumentView(document, parts)) }),
  };
}

function chunkView({ content, documentId, position, similarity }: MatchingChunk) {
  return { content, documentId, position, score: similarity };
}

function contextView({ parents, children, related }: MemoryContext) {
  const versionView = (entry: ContextEntry & { version: number }) => ({ ...entryView(entry), version: entry.version });
  return {
    parents: parents.map(versionView),
    children: children.map(versionView),
    related: related.map(entryView),
  };
}

function entryView({ id, relation, memory, metadata, updatedAt }: ContextEntry) {
  return { id, relation, memory, metadata: publicMetadata(metadata ?? {}), updatedAt: updatedAt.toISOString() };
}

function resultDocumentView(document: ResultDocument, parts: ResultParts) {
  const { id, customId, title, type, url, summary, createdAt, updatedAt } = document;
  return {
    id,
    customId,
    title,
    type,
    url,
    metadata: publicMetadata(document.metadata),
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
    ...(parts.summaries && { summary }),
  };
}
