import type { Scope } from '../base/scope.ts';
import type { Json } from '../connector/contract.ts';
import type { Trust } from '../memory/extractor.ts';
import type { ChunkPage, ListedChunkRow, WrittenTurn } from '../store/document-contents.ts';
import type { DocumentSelection } from '../store/document-selection.ts';
import type { DocumentCount, DocumentRow } from '../store/documents.ts';
import type { Filter } from '../store/filters.ts';
import type { MemoryEntry, MemoryOfDocumentRow } from '../store/memory-lists.ts';
import type { ClaimedDocument } from '../store/processing.ts';

/** Section 7.1 of the API: what a document's processing has come to. */
export const documentStatuses = [
  'unknown',
  'queued',
  'extracting',
  'chunking',
  'embedding',
  'indexing',
  'done',
  'failed',
] as const;
export type DocumentStatus = (typeof documentStatuses)[number];

export type { Json };
export type Metadata = Record<string, Json>;

/** The content to ingest: text in one of several forms, an address to fetch, or a file's bytes. */
export type DocumentBody =
  | { kind: 'text' | 'markdown' | 'html' | 'conversation'; text: string }
  | { kind: 'url'; url: string }
  | { kind: 'file'; bytes: Uint8Array; mimeType?: string | undefined; name?: string; keep?: boolean };

/** Content that a caller writes as text: the text itself, or an address. */
export type WrittenBody = { kind: 'text'; text: string } | { kind: 'url'; url: string };

export interface DocumentInput {
  containerTag: string;
  /** Tags as sent by older clients, which may name several; the first is the container. */
  containerTags?: readonly string[] | undefined;
  customId?: string | undefined;
  connectionId?: string | undefined;
  body: DocumentBody;
  /** Where it comes from: `api`, `file`, `url`, or the provider's name. */
  source: string;
  /** The document's type when the source knows it; else found by looking at the content. */
  type?: string | undefined;
  title?: string | undefined;
  url?: string | undefined;
  filepath?: string | undefined;
  /** Absent keeps what is stored. */
  metadata?: Metadata | undefined;
  /** Merges the metadata into what is stored, key by key, instead of replacing it. */
  mergesMetadata?: boolean | undefined;
  taskType?: 'memory' | 'superrag' | undefined;
  dreaming?: 'instant' | 'dynamic' | undefined;
  documentDate?: Date | undefined;
  /** Fields that it shares with other documents. It is compared with memories of such alone, and found by filters as by metadata. */
  filterByMetadata?: Metadata | undefined;
  /** Of the container; guides what is taken from its documents. */
  entityContext?: string | undefined;
  /** The same of this document alone, in place of what is said of its container. */
  supportingContext?: string | undefined;
  /** Whether to replace the text stored under the customId or to append to it; see `joinedText`. Default `replace`. */
  updateMode?: 'replace' | 'append' | undefined;
  /** When the item was made at its source; default now. */
  createdAt?: Date | undefined;
  /** Whom `I` stands for in it: a name, or `Name <address>`. */
  author?: string | undefined;
  /** Default: files and pages are read, everything else was told to memory. */
  trust?: Trust | undefined;
  /** For whose quota it counts (`Caller.usageId`). Absent: for that of its container alone. */
  addedBy?: string | undefined;
  /** Its pieces, when several people wrote it. */
  turns?: readonly WrittenTurn[] | undefined;
}

export interface IngestResult {
  id: string;
  status: DocumentStatus;
  /** `metadata`: fields changed, nothing to process again. `restored`: it was removed and is back. */
  outcome: 'created' | 'restored' | 'updated' | 'metadata' | 'unchanged';
  /** Of a new document stored under a lease: what its worker needs. */
  claimed?: ClaimedDocument;
}

/** A stored document. */
export interface Document extends Omit<DocumentRow, 'errorCode' | 'errorMessage' | 'attempts' | 'nextAttemptAt'> {
  status: DocumentStatus;
  dreamingStatus: 'dreaming' | 'done';
  taskType: 'memory' | 'superrag';
  metadata: Metadata;
  /** Null unless it failed or waits for another attempt. */
  error: { code: string; message: string; attempts: number; nextRetryAt: Date | null } | null;
}

export interface DocumentContent {
  /** The canonical text; null while there is none. */
  content: string | null;
  /** The input as sent: the text, the URL, or null for a file. */
  raw: string | null;
  hasMemories: boolean;
}

/** A stored chunk, without its vector. */
export interface Chunk extends Omit<ListedChunkRow, 'documentId'> {
  metadata: Metadata;
}

/** A stored memory as a document shows it: its dates are part of its metadata. */
export interface DocumentMemory extends Omit<MemoryOfDocumentRow, 'metadata' | 'temporalContext'> {
  metadata: Record<string, unknown>;
}

export type { MemoryEntry };

export type FileBody = Extract<DocumentBody, { kind: 'file' }>;

/** Changes to a document; absent fields stay as they are. */
interface DocumentChange extends Pick<
  DocumentInput,
  | 'containerTag'
  | 'containerTags'
  | 'customId'
  | 'filepath'
  | 'taskType'
  | 'dreaming'
  | 'documentDate'
  | 'filterByMetadata'
  | 'entityContext'
  | 'supportingContext'
  | 'addedBy'
> {
  /** The new content. */
  body?: WrittenBody | FileBody | undefined;
  /** Of the new content, when the caller knows it. */
  type?: string | undefined;
  /** Metadata, date, `filterByMetadata` and `supportingContext` that are not given are taken away. */
  clearsFields?: boolean | undefined;
  /** Merged key by key; null takes a key away. */
  metadata?: Record<string, Metadata[string] | null> | undefined;
}

export type PartialDocumentChange = Partial<DocumentChange>;

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
