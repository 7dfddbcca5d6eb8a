import type { Filter } from '../filters.ts';

/** Limits which rows a search may see. */
export interface Narrowing {
  /** Null: every container. */
  containerTags: readonly string[] | null;
  /** Any of these is the container, or stands beside it in the document's `container_tags`. */
  namedTags?: readonly string[] | undefined;
  filters?: Filter | undefined;
  /** Exact, or a prefix when it ends with `/`. */
  filepath?: string | undefined;
  /** Id or customId of a document. */
  docId?: string | undefined;
  /** Only what memory knew at this time. */
  asOf?: Date | undefined;
  /** Only documents of this time, and what came from them. */
  dates?: DateRange | undefined;
}

/** Both moments belong to it; without one of them it is open there. */
export interface DateRange {
  from?: Date | undefined;
  to?: Date | undefined;
}

/** The kinds of rows to search. Each has a statement of its own; the results are ranked together. */
export type SearchedKind = 'chunks' | 'memories';

/** Everything that one statement depends on which finds candidates of one kind. */
export interface CandidatePlan extends Narrowing {
  kind: SearchedKind;
  access: Access;
  /** Whether memories count that are forgotten or expired. */
  forgottenToo: boolean;
  /** Memories that are to be forgotten by now are left out. */
  now: Date;
  /** Whether it is told which chunks each memory came from. */
  linked: boolean;
  model: { id: string; dimensions: number };
  /** The query's vector; null searches by terms alone. */
  vector: ArrayLike<number> | null;
  /** The query's terms; none searches by vector alone. */
  terms: readonly QueryTerm[];
  keywords: readonly Keyword[];
  /** Times that the query names: a text counts as dated when it was said or written in one of them. */
  periods: readonly Period[];
  scoring: Scoring;
}

/** From a moment on and until before another; of each year when the query leaves open which one. */
export interface Period {
  from: Date;
  to: Date;
  isEachYear: boolean;
}

/** A word of the query. */
export interface QueryTerm {
  /** The terms of a text that are this word; a text may hold several of them for one. */
  forms: readonly string[];
  /** How often the query says it. */
  count: number;
}

/**
 * How the statement reaches what it searches.
 * `all`: it reads everything in the scope and takes its statistics from that; exact.
 * `candidates`: it takes the nearest vectors (`indexed`: by the HNSW index when there is one;
 * `scanned`: by comparing all) and texts that hold rare terms; statistics come with the plan.
 */
export type Access = { kind: 'all' } | CandidateAccess;
export type CandidateAccess = { kind: 'candidates'; dense: 'indexed' | 'scanned' } & CorpusStatistics;

export interface CorpusStatistics {
  /** Texts in the scope. */
  items: number;
  /** Terms of an average text. */
  averageLength: number;
  /** In how many of them each of the query's terms stands, in its commonest form. */
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
  /** Best of each arm and kind that are ranked. */
  candidates: number;
  /** Cosine that is reported as `related`. */
  relatedAt: number;
  /** Similarity from which on a text is related. */
  related: number;
  /** A term is rare in at most this share of the texts, and in at most this many. */
  rareShare: number;
  rareItems: number;
  /** Texts with query terms that are scored when they are not all read. */
  lexicalCandidates: number;
  /** Size of the HNSW index's candidate list. */
  indexSearchSize: number;
}
