import type { Scope } from '../base/scope.ts';
import type { ChunkPage } from '../store/chunks.ts';
import type { DocumentCount, DocumentSelection } from '../store/document-selection.ts';
import type { Filter } from '../store/filters.ts';
import type { MemoryEntry } from '../store/memory-entries.ts';
import type { PartialDocumentChange } from './change-document.ts';
import type {
  Chunk,
  Document,
  DocumentContent,
  DocumentInput,
  DocumentMemory,
  DocumentStatus,
  IngestResult,
} from './document.ts';

export type { MemoryEntry };

export interface DocumentSelectionQuery {
  scope: Scope;
  /** Any of these stands in the document's `containerTags`; does not widen the scope. */
  namedTags?: readonly string[] | undefined;
  ids?: readonly string[] | undefined;
  customIds?: readonly string[] | undefined;
  filters?: Filter | undefined;
  /** Exact, or a prefix when it ends with `/`. */
  filepath?: string | undefined;
  /** In title or path, in any case. */
  text?: string | undefined;
  statuses?: readonly DocumentStatus[] | undefined;
  sources?: readonly string[] | undefined;
  connectionId?: string | undefined;
  type?: string | undefined;
}

export interface DocumentListQuery extends DocumentSelectionQuery {
  sort: 'createdAt' | 'updatedAt';
  order: 'asc' | 'desc';
  limit: number;
  /** 1-based. */
  page: number;
  includeContent?: boolean | undefined;
}

/** As lists show it. */
export interface ListedDocument extends Document {
  /** Null: not asked for. */
  content: string | null;
  /** Bytes: the larger of what was sent and its text. Null: there is neither. */
  size: number | null;
}

/** What the outer layers read of documents. */
export interface DocumentReads {
  /**
   * By id or customId, an id match first. Null when the scope holds none.
   * Throws `conflict` (not to be retried) when the customId stands in several containers of the scope.
   */
  find(idOrCustomId: string, scope: Scope): Promise<(Document & DocumentContent) | null>;
  /** Ordered by position. */
  chunks(documentId: string): Promise<Chunk[]>;
  /** Chunks of all documents of a scope, a page of them. */
  listChunks(
    query: Omit<ChunkPage, 'containerTags'> & { scope: Scope },
  ): Promise<{ chunks: (Chunk & { documentId: string })[]; total: number }>;
  /** Every version, forgotten ones included, oldest first. */
  memories(documentId: string): Promise<DocumentMemory[]>;
  list(query: DocumentListQuery): Promise<{ documents: ListedDocument[]; total: number }>;
  /**
   * The page that follows a cursor, which an earlier page gave as `next`; empty: the first one. Costs the same however
   * far it is, and counts nothing. Throws `invalid_request` for a cursor that no page gave.
   */
  listFrom(
    query: Omit<DocumentListQuery, 'page'>,
    cursor: string,
  ): Promise<{ documents: ListedDocument[]; next: string | null }>;
  /** `waiting` and `failed`: of them those that are still to be processed, and those that could not be. */
  count(query: DocumentSelectionQuery): Promise<DocumentCount>;
  /** Memories of documents with all that the graph shows, oldest first. */
  memoryEntries(documentIds: readonly string[]): Promise<MemoryEntry[]>;
  countByStatus(scope: Scope): Promise<Record<DocumentStatus, number>>;
  /** Of those that are processed: their words are found already, their vectors are still to be made. */
  countFoundByWords(scope: Scope): Promise<number>;
  /** Since when the oldest document waits that is not processed yet; null where none waits. */
  oldestWaitingAt(scope: Scope): Promise<Date | null>;
}

/** What they change. */
export interface DocumentChanges {
  /** Stores and queues; one result per input, in order. Inputs with one customId apply in order. */
  add(inputs: readonly DocumentInput[]): Promise<IngestResult[]>;
  /** Deletes for good, with chunks, sourceless memories and contents. Returns how many were there. */
  remove(ids: readonly string[]): Promise<number>;
  /** Deletes whatever is selected. What is more than 10,000 documents is hidden at once and deleted later. */
  removeSelected(selection: DocumentSelection): Promise<number>;
  /**
   * Changes fields in place; new content starts processing again. Throws `not_found`, and `conflict`
   * for a customId that is taken in the container.
   */
  change(id: string, change: PartialDocumentChange): Promise<Document>;
  /** Puts a failed document back to `queued` with fresh attempts; `conflict` when it is not failed. */
  retry(id: string): Promise<Document>;
  /** The same for every failed one. Answers how many. */
  retryFailed(selection: { scope: Scope; connectionId?: string | undefined }): Promise<number>;
  /** Queues one to be indexed anew from its content; throws as `reindexDocument` does. */
  reindex(id: string): Promise<Document>;
}

export interface Documents extends DocumentReads, DocumentChanges {}
