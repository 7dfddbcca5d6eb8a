import type { ResultDocumentRow, ResultRow } from '../store/search/results.ts';
import type { Narrower } from '../store/search/document-standing.ts';
import type { Scope } from '../base/scope.ts';
import type { Filter } from '../store/filters.ts';
import type { DateRange } from '../store/search/search-plan.ts';
import type { Scores } from './score-candidates.ts';

/**
 * `documents`: passages of documents. `hybrid` and `memories`: memories and passages in one list, one line
 * for each thing that is said. `memories only`: nothing but memories.
 */
export type SearchMode = 'memories' | 'documents' | 'hybrid' | 'memories only';

export interface SearchRequest {
  q: string;
  scope: Scope;
  mode: SearchMode;
  /** Results whose similarity is below are dropped. */
  threshold: number;
  limit: number;
  filters?: Filter | undefined;
  /** Exact, or a prefix when it ends with `/`. */
  filepath?: string | undefined;
  /** Only this document: id or customId. */
  docId?: string | undefined;
  /** Adds the summaries of the source documents. */
  includeSummaries?: boolean | undefined;
  /** Also memories that are forgotten or expired. */
  includeForgotten?: boolean | undefined;
  /** Only what memory knew at this time: versions that held then, and documents that were there already. */
  asOf?: Date | undefined;
  /** Only documents of this time, and memories that came from them or that were told by themselves in it. */
  dates?: DateRange | undefined;
  /**
   * When nothing reaches the threshold, the nearest that are so similar are answered all the same, marked as weak. And
   * what ranks before the first that reaches it stays if it is nearly as similar.
   */
  weak?: number | undefined;
  /** Adds the best matching chunks of its documents to each memory. */
  includeChunks?: boolean | undefined;
  /** Adds the context to each memory. */
  includeRelated?: boolean | undefined;
  /** Reports no result as less similar than one after it, as what ranks higher is at least as good. */
  levelled?: boolean | undefined;
  /** Scores the best candidates again. */
  rerank?: boolean | undefined;
  /** Searches several wordings of the query. */
  rewriteQuery?: boolean | undefined;
  /** Any of these is the container, or stands in the document's `containerTags`; does not widen the scope. */
  namedTags?: readonly string[] | undefined;
  /** Adds statements that sum up several memories, where a language model is configured. */
  aggregate?: boolean | undefined;
  signal?: AbortSignal | undefined;
}

export interface SearchResult extends Omit<ResultRow, 'documents'> {
  /** 0 to 1, comparable between embedders: 0.6 separates related from unrelated. */
  similarity: number;
  /** Absent of what is made of several. */
  scores?: Scores;
  /** Nothing reaches the threshold, and this is only near. */
  isWeak: boolean;
  /** Made of several memories, for this request; stored nowhere. */
  isAggregated?: true;
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

/** Memories linked to a memory; nearest first, at most 10 in each list. */
export interface MemoryContext {
  /** Earlier versions: -1 is the one before. */
  parents: (ContextEntry & { version: number })[];
  /** Later versions: 1 is the next one. */
  children: (ContextEntry & { version: number })[];
  /** Memories that extend it or derive from it, in either direction. */
  related: ContextEntry[];
}

export interface ContextEntry {
  id: string;
  relation: 'updates' | 'extends' | 'derives';
  memory: string;
  metadata: Record<string, unknown> | null;
  updatedAt: Date;
}

export interface ResultDocument extends Omit<ResultDocumentRow, 'documentDate' | 'createdAt' | 'updatedAt'> {
  documentDate: Date | null;
  createdAt: Date;
  updatedAt: Date;
}

export interface Search {
  /** Best first. Throws `MemorydError` when the embedder fails and nothing can be answered. */
  search(request: SearchRequest): Promise<SearchResult[]>;
}

export interface ExplainedSearch extends Search {
  /** Where a document stands for a search, and why it is not shown; by the document's id. */
  explain(request: SearchRequest, documentId: string): Promise<Explanation>;
}

/** Where a document stands for a search. */
export interface Explanation {
  outcome:
    /** It is among the results. */
    | 'shown'
    /** Others are better, and no more are asked for. */
    | 'below_limit'
    | 'below_threshold'
    /** Another document with the same statement is a result already. */
    | 'said_by_another'
    /** The search is narrowed to a scope without it. */
    | 'left_out'
    /** There is nothing of it to be found, because its processing failed, or its text is empty. */
    | 'not_indexed';
  /** From 1: among what reaches the threshold or, where it does not, among all. Null: behind all that was ranked. */
  rank: number | null;
  /** How many were ranked. */
  ranked: number;
  /** Of its best text, as of a result; null where there is none. */
  similarity: number | null;
  scores: Scores | null;
  /** Only with `left_out`. */
  leftOutBy: Narrower[];
}
