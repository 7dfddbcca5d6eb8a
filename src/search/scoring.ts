import type { Scoring } from '../store/search/search-plan.ts';

/**
 * The constants of the ranking; docs/decisions/0008-search-scoring.md says where each comes from.
 * `relatedAt` is the embedder's.
 */
export const scoring: Omit<Scoring, 'relatedAt'> = {
  saturation: 1.5,
  lengthCorrection: 0.4,
  denseWeight: 0.65,
  lexicalWeight: 0.35,
  candidates: 200,
  related: 0.6,
  rareShare: 0.01,
  rareItems: 20,
  inferenceWeight: 0.9,
  lexicalCandidates: 1_000,
  indexSearchSize: 100,
};

/** Candidates that are scored again or merged with those of other wordings. */
export const rerankedCandidates = 60;

/** Of the reranker's score; the rest is that of the first ranking. */
export const rerankWeight = 0.4;

/** Of what another wording of the query finds, beside 1 of the query's own. */
export const rewriteWeight = 0.5;

/** Up to so many chunks all are read and compared, which is exact; more are reached by indexes. */
export const exactLimit = 5_000;

/** More terms than this cost time and tell little more; the longest, which tend to be rare, are kept. */
export const maxQueryTerms = 48;
