import { bm25, termWeight } from '../store/search/bm25.ts';
import type { CandidateRow } from '../store/search/candidates.ts';
import type { CandidatePlan, CorpusStatistics } from '../store/search/search-plan.ts';
import {
  completeWeight,
  datedWeight,
  headWeight,
  inferenceWeight,
  lexicalWeight,
  lexicalWeightOfTurns,
  relatedCoverage,
  rewriteWeight,
  trustedTerms,
} from './ranking-constants.ts';

/** What a search of one kind of texts found. */
export interface Found {
  plan: CandidatePlan;
  corpus: CorpusStatistics;
  candidates: readonly Candidate[];
}

/** A text that comes into question, as the query sees it. */
export interface Candidate {
  text: CandidateText;
  /** Of a chunk its own; of a memory the chunks that it came from, where that is known and asked for. */
  places: readonly Place[];
  /** Whether a turn is a document of its own. */
  isLone: boolean;
  /** Null without a vector of the model. */
  cosine: number | null;
  /** How often each term of the query stands in it. */
  counts: readonly number[];
  holdsKeyword: boolean;
  /** It is of a time that the query names. */
  isDated: boolean;
}

/** What it is whoever asks. */
export interface CandidateText {
  id: string;
  type: CandidateRow['type'];
  /** In terms. */
  length: number;
  isInference: boolean;
  /** Equal for memories that say the same; null for chunks. */
  statement: string | null;
  /** Of a chunk: whether memories came from its document. */
  isMined: boolean;
}

/** Chunks of a document, from the first to the last position. */
export interface Place {
  document: string;
  first: number;
  last: number;
  /** Of a memory, the stretch of the document's text; null when it is not known. */
  start: number | null;
  end: number | null;
}

/** Of the rows of `candidatesStatement`, in which a memory comes once for each of its sources. */
export function foundInRows(plan: CandidatePlan, rows: readonly CandidateRow[]): Found {
  const found = new Map<string, Candidate & { places: Place[] }>();
  for (const row of rows) {
    if (row.id === null) continue;
    const { id, type, length, isInference, statement, isMined, isLone, cosine, isDated } = row;
    const known = found.get(id);
    const candidate = known ?? {
      text: { id, type, length, isInference, statement, isMined },
      ...{ places: [], isLone, cosine, counts: row.numbers, holdsKeyword: row.held, isDated },
    };
    if (!known) found.set(id, candidate);
    const { document, first, last, start, end } = row;
    if (document !== null && first !== null && last !== null)
      candidate.places.push({ document, first, last, start, end });
  }
  return { plan, corpus: corpusOf(plan, rows), candidates: [...found.values()] };
}

function corpusOf({ access }: CandidatePlan, rows: readonly CandidateRow[]): CorpusStatistics {
  if (access.kind === 'candidates') return access;
  const [, items = 0, terms = 0, ...frequencies] = rows.find(({ id }) => id === null)?.numbers ?? [];
  return { items, averageLength: terms / Math.max(items, 1), frequencies };
}

/** A text's scores by words and by vectors. */
export interface Scores {
  /** Of the best that the query's words found: 1 for that one, 0 for what holds none of them. */
  words: number;
  /** The similarity by the vectors alone; null without a vector of the model. */
  vectors: number | null;
}

/** A candidate with its rank among all, and what it is linked with others by. */
export interface Scored extends Omit<CandidateText, 'isInference'>, Pick<Candidate, 'places' | 'isLone'> {
  kind: 'chunk' | 'memory';
  score: number;
  similarity: number;
  scores: Scores;
  /** Of a document that is one turn: its score if it is a note that only looks like one. Else null. */
  scoreAsText: number | null;
  /** Of a memory, the turn that it ranks with; null where it ranks by itself. */
  turn: string | null;
}

/** A candidate of a kind, with its score by words. */
interface WordScored {
  candidate: Candidate;
  kind: Scored['kind'];
  bm25: number;
}

/**
 * Candidates of all kinds in one ranking. Both scores of each are known, so nothing is missing when
 * they are fused. Weights of terms are over all that is searched; lengths are compared within a kind.
 */
export function scoreCandidates(found: readonly Found[]): Scored[] {
  const [{ plan }] = found as [Found];
  const items = found.reduce((sum, { corpus }) => sum + corpus.items, 0);
  const weights = plan.terms.map(({ count }, index) => {
    const frequency = found.reduce((sum, { corpus }) => sum + (corpus.frequencies[index] ?? 0), 0);
    return count * termWeight(items, frequency);
  });
  const scored = found.flatMap((one) => scoredByWords(one, weights));
  const cosines = scored.map(({ candidate }) => candidate.cosine).filter((value) => value !== null);
  const cosine = stretch(cosines);
  const decides = new Set(cosines).size > 1;
  const words = stretch(scored.map((one) => one.bm25));
  const mostWords = scored.reduce((most, one) => Math.max(most, one.bm25), 0);
  const heads = headsOf(scored, cosine);
  const coverages = scored.map(({ candidate }) => coverage(candidate.counts, weights));
  const trust = trustInWords(coverages, plan.terms.length);
  return scored.map(({ candidate, kind, bm25: lexical }, index) => {
    const { text, places, isLone } = candidate;
    const covered = coverages[index]!;
    const scoreAs = (type: CandidateText['type']) =>
      (text.isInference ? inferenceWeight : 1) *
        beneath(
          heads,
          candidate,
          fuse(candidate.cosine, cosine, trust * words(lexical), weightOfWords(type, decides)),
        ) +
      completeWeight * Math.max(0, (covered - relatedCoverage) / (1 - relatedCoverage)) +
      (candidate.isDated ? datedWeight : 0);
    return {
      id: text.id,
      kind,
      type: text.type,
      length: text.length,
      statement: text.statement,
      isMined: text.isMined,
      places,
      isLone,
      turn: null,
      score: scoreAs(text.type),
      scoreAsText: isLone ? scoreAs('text') : null,
      similarity: similarityOf(candidate, covered, plan.scoring),
      scores: {
        words: mostWords > 0 ? lexical / mostWords : 0,
        vectors: candidate.cosine === null ? null : closeness(candidate.cosine, plan.scoring),
      },
    };
  });
}

/**
 * Combines the results of several wordings into one ranking, that of the query first: by the sum of the scores (Fox and
 * Shaw, "Combination of multiple searches", 1994), with the best similarity of each.
 */
export function mergeRankings(rankings: readonly (readonly Scored[])[]): Scored[] {
  const merged = new Map<string, Scored>();
  for (const [index, ranked] of rankings.entries()) {
    const weight = index === 0 ? 1 : rewriteWeight;
    for (const one of ranked) {
      const known = merged.get(one.id);
      const similarity = Math.max(known?.similarity ?? 0, one.similarity);
      const scores = known ? bestScores([known.scores, one.scores]) : one.scores;
      const scoreAsText = one.scoreAsText === null ? null : (known?.scoreAsText ?? 0) + weight * one.scoreAsText;
      const score = (known?.score ?? 0) + weight * one.score;
      merged.set(one.id, { ...one, similarity, scores, score, scoreAsText });
    }
  }
  return [...merged.values()];
}

/** The best of each, of texts that one line stands for. */
export function bestScores(scores: readonly Scores[]): Scores {
  const vectors = scores.flatMap((one) => one.vectors ?? []);
  return {
    words: Math.max(...scores.map(({ words }) => words)),
    vectors: vectors.length > 0 ? Math.max(...vectors) : null,
  };
}

function scoredByWords({ plan, corpus, candidates }: Found, weights: readonly number[]): WordScored[] {
  const kind = plan.kind === 'chunks' ? 'chunk' : 'memory';
  const { averageLength } = corpus;
  return candidates.map((candidate) => {
    const { counts, text } = candidate;
    return { candidate, kind, bm25: bm25({ length: text.length, counts }, plan.scoring, { weights, averageLength }) };
  });
}

/** Combines the scores. A text without a vector of the model is judged by its words alone. */
function fuse(cosine: number | null, dense: (value: number) => number, lexical: number, weight: number): number {
  return cosine === null ? lexical : (1 - weight) * dense(cosine) + weight * lexical;
}

/** Vectors that are all equally near decide nothing, so what they weigh is the same for all. */
function weightOfWords(type: CandidateText['type'], decides: boolean): number {
  return !decides || type === 'text' || type === 'fact' ? lexicalWeight : lexicalWeightOfTurns;
}

/**
 * By what share words count. Where no text holds much of what a short query says, the one that holds most may hold the
 * words that say least; of a long one, no text holds much. A part for one of the terms is given: who asks in two words
 * of which a text has one asks for that.
 */
function trustInWords(coverages: readonly number[], terms: number): number {
  if (terms > trustedTerms) return 1;
  const most = coverages.reduce((best, one) => Math.max(best, one), 0);
  return most + (1 - most) / Math.max(1, terms);
}

/** How near the beginnings of documents are of which later passages are candidates too. */
function headsOf(scored: readonly WordScored[], dense: (value: number) => number): Map<string, number> {
  const chunks = scored.filter(({ kind }) => kind === 'chunk').map(({ candidate }) => candidate);
  const later = new Set(chunks.flatMap(({ places: [place] }) => (place && place.first > 0 ? place.document : [])));
  const heads = new Map<string, number>();
  for (const { places, cosine } of chunks) {
    const [place] = places;
    if (place?.first === 0 && cosine !== null && later.has(place.document)) heads.set(place.document, dense(cosine));
  }
  return heads;
}

/** The score of a passage, with a share of how near the beginning of its document is, which says what all of it is about. */
function beneath(heads: ReadonlyMap<string, number>, { text, places, cosine }: Candidate, own: number): number {
  const [place] = places;
  if (text.type !== 'text' || place === undefined || cosine === null) return own;
  const head = heads.get(place.document);
  if (head === undefined && place.first === 0) return own;
  return (own + headWeight * (head ?? 0)) / (1 + headWeight);
}

/** Stretches values to 0…1 over all of them, or to 1 when they are equal. */
export function stretch(values: readonly number[]): (value: number) => number {
  const low = values.reduce((least, value) => Math.min(least, value), Infinity);
  const high = values.reduce((most, value) => Math.max(most, value), -Infinity);
  return (value) => (high > low ? (value - low) / (high - low) : 1);
}

/** The cosine, calibrated; a text that holds the words of the query is related whatever its vector says. */
function similarityOf(
  { cosine, holdsKeyword }: Candidate,
  covered: number,
  calibration: CandidatePlan['scoring'],
): number {
  const own = cosine === null ? rounded(covered) : closeness(cosine, calibration);
  return holdsKeyword || covered >= relatedCoverage ? Math.max(own, calibration.related) : own;
}

function closeness(cosine: number, { related, relatedAt }: CandidatePlan['scoring']): number {
  return rounded(calibrate(cosine, related, relatedAt));
}

/** To 6 decimals, as stored vectors have, so that what is at the threshold does not fall below it by rounding. */
const rounded = (similarity: number) => Math.round(similarity * 1e6) / 1e6;

/** 0 at a cosine of 0 and below, `related` at the model's `relatedAt`, 1 at 1, straight lines between. */
function calibrate(cosine: number, related: number, relatedAt: number): number {
  if (cosine < relatedAt) return Math.max(related * (cosine / relatedAt), 0);
  // Of a model that tells nothing apart.
  if (relatedAt >= 1) return 1;
  return Math.min(related + ((1 - related) * (cosine - relatedAt)) / (1 - relatedAt), 1);
}

/** The share of the query's weight that a text contains, 0 to 1. */
function coverage(counts: readonly number[], weights: readonly number[]): number {
  let all = 0;
  let found = 0;
  for (let index = 0; index < weights.length; index++) {
    all += weights[index]!;
    if (counts[index]! > 0) found += weights[index]!;
  }
  return all > 0 ? found / all : 0;
}
