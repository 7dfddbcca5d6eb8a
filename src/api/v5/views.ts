import type { Chunk, Document, DocumentContent, DocumentMemory } from '../../engine/document.ts';
import type { FoundMemory, RelatedMemory, SourceDocument } from '../../memory/find-memory.ts';
import { type Memory, isForgotten } from '../../memory/memories.ts';
import type { ContextEntry, MemoryContext, ResultDocument, SearchResult } from '../../search/search.ts';
import { publicMetadata } from '../views.ts';
import type { NamespaceDocumentAnswer } from './schemas/documents.ts';
import type { SearchResultAnswer } from './schemas/search.ts';

export function systemOf({ createdAt, updatedAt }: { createdAt: Date; updatedAt: Date }) {
  return { createdAt, updatedAt };
}

/** Exactly the fields of the interface specification. */
export function namespaceDocumentView(
  document: Document & DocumentContent,
  parts: { chunks: Chunk[] | null; memories: DocumentMemory[] | null },
): NamespaceDocumentAnswer {
  const { id, title, type, summary, content, status } = document;
  return {
    ...{ id, title, type, summary, content, metadata: publicMetadata(document.metadata) },
    system: { status, ...systemOf(document) },
    chunks: parts.chunks?.map(chunkView),
    memories: parts.memories?.map(namespaceMemoryView),
  };
}

/** In a list. */
export function documentLineView(document: Document) {
  const { id, title, type, summary, url, status } = document;
  return {
    ...{ id, title, type, summary, metadata: publicMetadata(document.metadata), url },
    system: { status, ...systemOf(document) },
  };
}

export function chunkView({ id, position, content, type, metadata, createdAt }: Chunk) {
  const system = { createdAt };
  return { id, position, content, type, metadata: publicMetadata(metadata), system };
}

function namespaceMemoryView(source: DocumentMemory) {
  const { id, memory, isStatic, isInference, isLatest, isForgotten, version } = source;
  return {
    ...{ id, memory, isStatic, isInference, isLatest, isForgotten, version },
    metadata: publicMetadata(source.metadata),
    system: systemOf(source),
  };
}

/** Follows the interface specification; an expired memory counts as forgotten. */
export function memoryView(source: Memory, now: Date) {
  const { id, memory, metadata, temporalContext, isStatic, isInference, isLatest, version } = source;
  return {
    ...{ id, memory, isStatic, isInference, isLatest, version },
    isForgotten: isForgotten(source, now),
    metadata: publicMetadata({ ...metadata, ...(temporalContext && { temporalContext }) }),
    system: systemOf(source),
  };
}

export function includedOfMemory(
  { memory, related, documents }: FoundMemory,
  include: { related: boolean; documents: boolean },
) {
  const sources = include.documents ? documents : new Map<string, SourceDocument>();
  const listed = (wanted: RelatedMemory['list']) =>
    related.filter(({ list }) => list === wanted).map((one) => relatedMemoryView(one, sources.get(one.id)));
  const document = sources.get(memory.id);
  return {
    related: include.related
      ? { parents: listed('parents'), children: listed('children'), siblings: listed('related') }
      : undefined,
    document: document && documentOfMemoryView(document),
  };
}

function relatedMemoryView(
  { id, list, relation, memory, metadata, updatedAt, distance }: RelatedMemory,
  document: SourceDocument | undefined,
) {
  return {
    ...{ id, relation, memory, metadata: publicMetadata(metadata ?? {}) },
    version: list === 'related' ? undefined : list === 'parents' ? -distance : distance,
    system: { updatedAt },
    document: document && documentOfMemoryView(document),
  };
}

export interface Included {
  documents: boolean;
  related: boolean;
}

/** The id of a result made for this request alone, so that nobody takes it for a memory that can be forgotten. */
export const aggregatedPrefix = 'aggregated_';

export function searchResultView(result: SearchResult, include: Included): SearchResultAnswer {
  const { id, kind, text, metadata, similarity, isAggregated, isLatest, isForgotten, isInference } = result;
  return {
    id: isAggregated ? `${aggregatedPrefix}${id}` : id,
    ...(kind === 'memory' ? { memory: text } : { chunk: text }),
    metadata: publicMetadata(metadata ?? {}),
    similarity,
    isLatest: isLatest && !isForgotten,
    isInference,
    system: systemOf(result),
    included: include.documents || include.related ? includedOfResult(result, include) : undefined,
  };
}

function includedOfResult({ documents: [document], context }: SearchResult, { documents, related }: Included) {
  return {
    related: related && context ? relatedOfResult(context) : undefined,
    document: documents && document ? documentOfMemoryView(document) : undefined,
  };
}

function relatedOfResult({ parents, children, related }: MemoryContext) {
  const entries = (list: (ContextEntry & { version?: number })[]) => list.map(entryView);
  return { parents: entries(parents), children: entries(children), siblings: entries(related) };
}

function entryView({ id, relation, version, memory, metadata, updatedAt }: ContextEntry & { version?: number }) {
  return {
    ...{ id, relation, memory, metadata: publicMetadata(metadata ?? {}) },
    version,
    system: { updatedAt },
  };
}

type ShownDocument = Pick<ResultDocument, 'id' | 'title' | 'type' | 'summary' | 'createdAt' | 'updatedAt'> & {
  metadata: Record<string, unknown>;
};

function documentOfMemoryView(document: ShownDocument) {
  const { id, title, type, metadata, summary } = document;
  return { ...{ id, title, type, metadata: publicMetadata(metadata), summary }, system: systemOf(document) };
}
