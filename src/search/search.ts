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
  rootMemoryId: string | null;
  filepath: string | null;
  documents: ResultDocument[];
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
