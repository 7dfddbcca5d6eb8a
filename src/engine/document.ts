import type { Trust } from '../memory/extractor.ts';
import type { WrittenTurn } from '../store/document-contents.ts';
import type { MemoryOfDocumentRow } from '../store/documents.ts';
import type { ClaimedDocument } from '../store/processing.ts';
import type { Json } from '../connector/contract.ts';

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
export interface Document {
  id: string;
  containerTag: string;
  /** As they are shown: the container alone, or all that the caller named. */
  containerTags: string[];
  customId: string | null;
  connectionId: string | null;
  revision: number;
  status: DocumentStatus;
  dreamingStatus: 'dreaming' | 'done';
  taskType: 'memory' | 'superrag';
  type: string;
  source: string | null;
  title: string | null;
  summary: string | null;
  url: string | null;
  ogImage: string | null;
  filepath: string | null;
  metadata: Metadata;
  documentDate: Date | null;
  /** Who "I" is in its text; null: nobody is named. */
  author: string | null;
  trust: 'told' | 'own' | 'read';
  /** Null unless it failed or waits for another attempt. */
  error: { code: string; message: string; attempts: number; nextRetryAt: Date | null } | null;
  createdAt: Date;
  updatedAt: Date;
}

export interface DocumentContent {
  /** The canonical text; null while there is none. */
  content: string | null;
  /** The input as sent: the text, the URL, or null for a file. */
  raw: string | null;
  hasMemories: boolean;
}

/** A stored chunk, without its vector. */
export interface Chunk {
  id: string;
  position: number;
  content: string;
  type: string;
  metadata: Metadata;
  createdAt: Date;
}

/** A stored memory as a document shows it: its dates are part of its metadata. */
export interface DocumentMemory extends Omit<MemoryOfDocumentRow, 'metadata' | 'temporalContext'> {
  metadata: Record<string, unknown>;
}
