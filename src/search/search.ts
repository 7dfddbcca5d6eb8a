import type { Scope } from '../base/scope.ts';
import type { Filter } from '../store/filters.ts';
import type { Metadata } from '../engine/document.ts';

export type SearchMode = 'memories' | 'documents' | 'hybrid';

export interface SearchRequest {
  q: string;
  scope: Scope;
  mode: SearchMode;
  /** Results whose similarity is below are dropped. */
  threshold: number;
  limit: number;
  filters?: Filter;
  /** Exact, or a prefix when it ends with `/`. */
  filepath?: string;
  /** Only this document: id or customId. */
  docId?: string;
  /** Adds the source documents to each result. */
  includeDocuments?: boolean;
  includeSummaries?: boolean;
  /** Also memories that are forgotten or expired. */
  includeForgotten?: boolean;
  /** Adds the best matching chunks of its documents to each memory; needs `includeDocuments`. */
  includeChunks?: boolean;
  /** Adds the context to each memory. */
  includeRelated?: boolean;
  /** Scores the best candidates again. */
  rerank?: boolean;
  /** Searches several wordings of the query. */
  rewriteQuery?: boolean;
  /** Any of these is the container, or stands in the document's `containerTags`; does not widen the scope. */
  namedTags?: readonly string[];
  signal?: AbortSignal;
}

export interface SearchResult {
  id: string;
  kind: 'chunk' | 'memory';
  text: string;
  /** 0 to 1, comparable between embedders: 0.6 separates related from unrelated. */
  similarity: number;
  /** The memory's metadata, or that of the chunk's document. */
  metadata: Record<string, unknown> | null;
  updatedAt: Date;
  /** Null for chunks. */
  version: number | null;
  /** Of a chunk in its document; null for memories. */
  position: number | null;
  rootMemoryId: string | null;
  filepath: string | null;
  documents: ResultDocument[];
  /** Of a memory, when they were asked for; best first. */
  chunks?: MatchingChunk[];
  /** Of a memory, when it was asked for. */
  context?: MemoryContext;
}

export interface MatchingChunk {
  content: string;
  documentId: string;
  position: number;
  similarity: number;
}

/** What stands beside a memory; nearest first, at most 10 in each list. */
export interface MemoryContext {
  /** Earlier versions: -1 is the one before. */
  parents: (ContextEntry & { version: number })[];
  /** Later versions: 1 is the next one. */
  children: (ContextEntry & { version: number })[];
  /** What extends it or was derived, in either direction. */
  related: ContextEntry[];
}

export interface ContextEntry {
  id: string;
  relation: 'updates' | 'extends' | 'derives';
  memory: string;
  metadata: Record<string, unknown> | null;
  updatedAt: Date;
}

export interface ResultDocument {
  id: string;
  customId: string | null;
  title: string | null;
  type: string;
  url: string | null;
  metadata: Metadata;
  summary: string | null;
  createdAt: Date;
  updatedAt: Date;
}

export interface Search {
  /** Best first. Throws `MemorydError` when the embedder fails and nothing can be answered. */
  search(request: SearchRequest): Promise<SearchResult[]>;
}
