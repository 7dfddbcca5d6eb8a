import type { Scoring } from '../store/search/search-plan.ts';

/**
 * The constants of the ranking; docs/decisions/0008-search-scoring.md says where each comes from.
 * `relatedAt` is the embedder's.
 */
export const scoring: Omit<Scoring, 'relatedAt'> = {
  saturation: 1.5,
  lengthCorrection: 0.4,
  candidates: 200,
  related: 0.6,
  rareShare: 0.01,
  rareItems: 20,
  lexicalCandidates: 1_000,
  indexSearchSize: 100,
};

/** Of memories that are looked for together with passages, which stand for what is not among these. */
export const besidePassages = { candidates: 100, lexicalCandidates: 500 };

/** The weight of words beside vectors. */
export const lexicalWeight = 0.35;

/** Turns are short, and found by their words. */
export const lexicalWeightOfTurns = 0.5;

/** The share that the beginning of a document adds to the score of a later passage of it. */
export const headWeight = 0.3;

/** Added to the score of a text that holds all that the query says, in parts from `relatedCoverage` on. */
export const completeWeight = 0.3;

/** Ranks inferred memories below stated ones. */
export const inferenceWeight = 0.9;

/** Added to the score of a text from a time that the query names. */
export const datedWeight = 0.3;

/** The share that a memory adds to the place of its chunk, and the chunk to that of the memory. */
export const linkWeight = 0.3;

/** A memory that scores less than the chunk it came from by more than this does not stand for it. */
export const memoryMargin = 0.1;

/** A memory with a smaller part of a turn's terms leaves out what the turn may have been found for. */
export const wholeTurn = 0.9;

/** Share of the query's weight that stands in a text which is related whatever its vector says. */
export const relatedCoverage = 0.75;

/** Of a query with more terms words count in full, however little of its weight stands in one text. */
export const trustedTerms = 8;

/** Where nothing is related, texts from this similarity on may be what is meant: half of what is related. */
export const weakSimilarity = 0.3;

/** Less than the threshold, for what ranks before everything that reaches it. */
export const nearSimilarity = 0.55;

/** Texts that are shown although nothing is related. */
export const mostWeak = 5;

/** Candidates that are scored again. */
export const rerankedCandidates = 60;

/** The weight of the reranker's score; the rest is that of the first ranking. Of a page's passage it reads only a part. */
export const rerankWeight = { page: 0.2, other: 0.4 };

/** Added for each sign of an answer, in parts of the range of the scores. */
export const answerWeight = 0.15;

/** Passages of one document among the first places; so many more lines are looked at. */
export const spreading = { places: 5, passages: 2, ahead: 20 };

/** Of what another wording of the query finds, beside 1 of the query's own. */
export const rewriteWeight = 0.5;

/** Searches at the same time that read in one statement. */
export const mostTogether = 32;

/** Up to so many chunks all are read and compared, which is exact, and likewise memories; more are reached by indexes. */
export const exactLimit = 5_000;

/** More terms than this cost time and tell little more; the longest, which tend to be rare, are kept. */
export const maxQueryTerms = 48;

/** Of what is said in conversations; docs/decisions/0008-search-scoring.md. */
export const conversational = {
  /** Share of the score of the best memory that came from a turn. */
  memory: 0.8,
  /** Shares of the score of the turn before, of the turn after, and of the mean of the session's best turns. */
  before: 0.2,
  after: 0.1,
  session: 0.3,
  sessionTurns: 5,
  /** In place of that of the turn before where that one asks: the share of its score as if it told. */
  answer: 0.4,
  /** Terms that a turn which is a document of its own must have to be worth half. */
  lonePenalty: 2,
  /** Documents of one turn whose neighbours are read. */
  lookedUp: 60,
  worth: { text: 1, turn: 1, question: 0.75, reply: 0.85, fact: 1, episode: 1 },
};
