import type { Filter } from '../filters.ts';

/** Everything one search statement depends on. `prepareSearch` makes the statement of it. */
export interface SearchPlan {
  /** Null: every container. */
  containerTags: readonly string[] | null;
  /** Any of these is the container, or stands beside it in the document's `container_tags`. */
  namedTags?: readonly string[];
  filters?: Filter;
  /** Exact, or a prefix when it ends with `/`. */
  filepath?: string;
  /** Id or customId of a document. */
  docId?: string;
  /** How chunks are reached; null leaves them out. */
  chunks: ChunkAccess | null;
  memories: 'current' | 'forgotten too' | null;
  model: { id: string; dimensions: number };
  /** The query's vector; null searches by terms alone. */
  vector: ArrayLike<number> | null;
  /** The query's terms; none searches by vector alone. */
  terms: readonly string[];
  keywords: readonly Keyword[];
  scoring: Scoring;
  threshold: number;
  limit: number;
  /** Memories that are to be forgotten by now are left out. */
  now: Date;
  details: { documents: boolean; summaries: boolean };
}

/**
 * How the statement reaches chunks.
 * `all`: it reads every chunk of the scope and takes its statistics from them; exact.
 * `candidates`: it takes the nearest vectors (`indexed`: by the HNSW index when there is one;
 * `scanned`: by comparing all) and chunks that hold rare terms; statistics come with the plan.
 */
export type ChunkAccess = { kind: 'all' } | ({ kind: 'candidates'; dense: 'indexed' | 'scanned' } & CorpusStatistics);

export interface CorpusStatistics {
  /** Chunks in the scope. */
  items: number;
  /** Terms of an average chunk. */
  averageLength: number;
  /** In how many of them each of the query's terms stands. */
  frequencies: readonly number[];
}

/** A piece of the query that proves relatedness when a text holds it exactly. */
export interface Keyword {
  /** A regular expression of PostgreSQL, matched without regard to case. */
  pattern: string;
  /** Positions in the query's terms that a text with the keyword holds. */
  terms: readonly number[];
  /** Counts only when one of its terms is rare in the scope. */
  onlyIfRare: boolean;
}

export interface Scoring {
  /** BM25's saturation of repeated terms. */
  saturation: number;
  /** BM25's correction for long texts. */
  lengthCorrection: number;
  denseWeight: number;
  lexicalWeight: number;
  /** Best of each arm that are fused. */
  candidates: number;
  /** Cosine that is reported as `related`. */
  relatedAt: number;
  /** Similarity from which on a text is related. */
  related: number;
  /** A term is rare in at most this share of the texts, and in at most this many. */
  rareShare: number;
  rareItems: number;
  /** Ranks inferred memories below stated ones. */
  inferenceWeight: number;
  /** Chunks with query terms that are scored when they are not all read. */
  lexicalCandidates: number;
  /** Size of the HNSW index's candidate list. */
  indexSearchSize: number;
}
