import type { ContextEntry, MatchingChunk, MemoryContext, ResultDocument, SearchResult } from '../../search/search.ts';
import type { SearchResultAnswer } from '../schemas/search.ts';
import { publicMetadata } from './shared.ts';

export interface ResultParts {
  /** Who searches memories finds passages in the field `memory`, too. */
  passagesAsMemories: boolean;
  documents: boolean;
  summaries: boolean;
  scores?: boolean;
}

/** Section 14 of the API. */
export function searchResultView(result: SearchResult, parts: ResultParts): SearchResultAnswer {
  const { id, similarity, version, filepath, containerTag, memoryKind, category, author, trust, extractor } = result;
  return {
    ...{ id, similarity, filepath, containerTag, category, author, trust, extractor },
    ...(parts.scores && result.scores && { scores: result.scores }),
    ...(result.isAggregated && { isAggregated: true as const }),
    kind: memoryKind ?? 'passage',
    saidAt: result.saidAt?.toISOString() ?? null,
    sources: result.documents.map(sourceView),
    ...textView(result, parts),
    ...{ version, metadata: metadataView(result, parts) },
    createdAt: result.createdAt.toISOString(),
    updatedAt: result.updatedAt.toISOString(),
    ...(result.chunks && { chunks: result.chunks.map(chunkView) }),
    ...(result.context && { context: contextView(result.context) }),
    ...(parts.documents && { documents: result.documents.map((document) => resultDocumentView(document, parts)) }),
  };
}

function textView({ kind, text, rootMemoryId }: SearchResult, { passagesAsMemories }: ResultParts) {
  return kind === 'memory' || passagesAsMemories ? { memory: text, rootMemoryId } : { chunk: text };
}

function metadataView({ kind, metadata }: SearchResult, { passagesAsMemories }: ResultParts) {
  const shown = metadata && publicMetadata(metadata);
  return kind === 'chunk' && passagesAsMemories ? { ...shown, kind: 'passage' } : shown;
}

function sourceView({ id, title, type, url, filepath, author, trust, documentDate, createdAt }: ResultDocument) {
  const date = (documentDate ?? createdAt).toISOString();
  return { documentId: id, title, type, url, filepath, author, trust, date };
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
