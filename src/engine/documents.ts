import type { Scope } from '../base/scope.ts';
import type { Filter } from '../store/filters.ts';
import type {
  Chunk,
  Document,
  DocumentContent,
  DocumentInput,
  DocumentMemory,
  DocumentStatus,
  IngestResult,
} from './document.ts';

export interface DocumentListQuery {
  scope: Scope;
  filters?: Filter;
  /** Exact, or a prefix when it ends with `/`. */
  filepath?: string;
  statuses?: readonly DocumentStatus[];
  sources?: readonly string[];
  connectionId?: string;
  type?: string;
  sort: 'createdAt' | 'updatedAt';
  order: 'asc' | 'desc';
  limit: number;
  /** 1-based. */
  page: number;
  includeContent?: boolean;
}

/** Everything the outer layers do with documents. */
export interface Documents {
  /** Stores and queues; one result per input, in order. Inputs with one customId apply in order. */
  add(inputs: readonly DocumentInput[]): Promise<IngestResult[]>;
  /**
   * By id or customId, an id match first. Null when the scope holds none.
   * Throws `conflict` (not to be retried) when the customId stands in several containers of the scope.
   */
  find(idOrCustomId: string, scope: Scope): Promise<(Document & DocumentContent) | null>;
  /** Ordered by position. */
  chunks(documentId: string): Promise<Chunk[]>;
  /** Every version, forgotten ones included, oldest first. */
  memories(documentId: string): Promise<DocumentMemory[]>;
  list(query: DocumentListQuery): Promise<{ documents: (Document & { content: string | null })[]; total: number }>;
  /** Deletes for good, with chunks, sourceless memories and contents. Returns how many were there. */
  remove(ids: readonly string[]): Promise<number>;
  /** Puts a failed document back to `queued` with fresh attempts; `conflict` when it is not failed. */
  retry(id: string): Promise<Document>;
  countByStatus(scope: Scope): Promise<Record<DocumentStatus, number>>;
}
