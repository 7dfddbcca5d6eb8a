import { paired } from '../base/collections.ts';
import { bm25, termWeight } from '../store/search/bm25.ts';
import type { CandidateRow } from '../store/search/candidates.ts';
import type { CandidatePlan } from '../store/search/search-plan.ts';
import { datedWeight, inferenceWeight, lexicalWeight, lexicalWeightOfTurns, relatedCoverage } from './scoring.ts';

/** Results of the statement that searches one kind. */
export interface Found {
  plan: CandidatePlan;
  rows: readonly CandidateRow[];
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

/** A text's scores by words and by vectors. */
export interface Scores {
  /** Of the best that the query's words found: 1 for that one, 0 for what holds none of them. */
  words: number;
  /** The similarity by the vectors alone; null without a vector of the model. */
  vectors: number | null;
}

/** A candidate with its rank among all, and what it is linked with others by. */
export interface Ranked {
  id: string;
  kind: 'chunk' | 'memory';
  type: CandidateRow['type'];
  /** Of a chunk: its document has no other. */
  isLone: boolean;
  /** In terms. */
  length: number;
  score: number;
  similarity: number;
  scores: Scores;
  /** Of a chunk its own; of a memory the chunks that it came from, where that is known. */
  places: Place[];
  /** Of a chunk: whether memories came from its document. */
  isMined: boolean;
  /** Equal for memories that say the same; null for chunks. */
  statement: string | null;
}

interface Text extends Omit<Ranked, 'score' | 'similarity' | 'scores'> {
  row: CandidateRow;
  bm25: number;
}

/**
 * Candidates of all kinds in one ranking. Both scores of each are known, so nothing is missing when
 * they are fused. Weights of terms are over all that is searched; lengths are compared within a kind.
 */
export function rankCandidates(found: readonly Found[]): Ranked[] {
  const [{ plan }] = found as [Found];
  const corpora = found.map(corpusOf);
  const items = corpora.reduce((sum, corpus) => sum + corpus.items, 0);
  const weights = plan.terms.map(({ count }, index) => {
    const frequency = corpora.reduce((sum, { frequencies }) => sum + (frequencies[index] ?? 0), 0);
    return count * termWeight(items, frequency);
  });
  const texts = paired(found, corpora).flatMap(([one, { averageLength }]) => textsOf(one, { weights, averageLength }));
  const cosine = stretch(texts.flatMap(({ row }) => (row.cosine === null ? [] : [row.cosine])));
  const words = stretch(texts.map((text) => text.bm25));
  const mostWords = texts.reduce((most, text) => Math.max(most, text.bm25), 0);
  return texts.map(({ row, bm25: lexical, ...ranked }) => ({
    ...ranked,
    score:
      (row.isInference ? inferenceWeight : 1) * fuse(row, cosine, words(lexical)) + (row.isDated ? datedWeight : 0),
    similarity: similarityOf(row, weights, plan.scoring),
    scores: {
      words: mostWords > 0 ? lexical / mostWords : 0,
      vectors: row.cosine === null ? null : closeness(row.cosine, plan.scoring),
    },
  }));
}

/** The best of each, of texts that one line stands for. */
export function bestScores(scores: readonly Scores[]): Scores {
  const vectors = scores.flatMap((one) => one.vectors ?? []);
  return {
    words: Math.max(...scores.map(({ words }) => words)),
    vectors: vectors.length > 0 ? Math.max(...vectors) : null,
  };
}

function corpusOf({ plan: { access }, rows }: Found) {
  if (access.kind === 'candidates') return access;
  const [, items = 0, terms = 0, ...frequencies] = rows.find(({ id }) => id === null)?.numbers ?? [];
  return { items, averageLength: terms / Math.max(items, 1), frequencies };
}

/** A memory has a row for each of its sources. */
function textsOf({ plan, rows }: Found, corpus: { weights: readonly number[]; averageLength: number }): Text[] {
  const texts = new Map<string, Text>();
  for (const row of rows) {
    if (row.id === null) continue;
    const known = texts.get(row.id);
    const text = known ?? {
      ...{ id: row.id, kind: plan.kind === 'chunks' ? ('chunk' as const) : ('memory' as const) },
      ...{ type: row.type, isLone: row.isLone, length: row.length },
      ...{ row, places: [], isMined: row.isMined, statement: row.statement },
      bm25: bm25({ length: row.length, counts: row.numbers }, plan.scoring, corpus),
    };
    if (!known) texts.set(row.id, text);
    const { document, first, last, start, end } = row;
    if (document !== null && first !== null && last !== null) text.places.push({ document, first, last, start, end });
  }
  return [...texts.values()];
}

/** Combines the scores. A text without a vector of the model is judged by its words alone. */
function fuse({ cosine, type }: CandidateRow, dense: (value: number) => number, lexical: number): number {
  if (cosine === null) return lexical;
  const weight = type === 'text' || type === 'fact' ? lexicalWeight : lexicalWeightOfTurns;
  return (1 - weight) * dense(cosine) + weight * lexical;
}

/** Stretches values to 0…1 over all of them, or to 1 when they are equal. */
export function stretch(values: readonly number[]): (value: number) => number {
  const low = values.reduce((least, value) => Math.min(least, value), Infinity);
  const high = values.reduce((most, value) => Math.max(most, value), -Infinity);
  return (value) => (high > low ? (value - low) / (high - low) : 1);
}

/** The cosine, calibrated; a text that holds the words of the query is related whatever its vector says. */
function similarityOf(
  { cosine, numbers, held }: CandidateRow,
  weights: readonly number[],
  calibration: CandidatePlan['scoring'],
): number {
  const covered = coverage(numbers, weights);
  const own = cosine === null ? rounded(covered) : closeness(cosine, calibration);
  return held || covered >= relatedCoverage ? Math.max(own, calibration.related) : own;
}

function closeness(cosine: number, { related, relatedAt }: CandidatePlan['scoring']): number {
  return rounded(calibrate(cosine, related, relatedAt));
}

/** To 6 decimals, as stored vectors have, so that what is at the threshold does not fall below it by rounding. */
const rounded = (similarity: number) => Math.round(similarity * 1e6) / 1e6;

/** 0 at a cosine of 0 and below, `related` at the model's `relatedAt`, 1 at 1, straight lines between. */
function calibrate(cosine: number, related: number, relatedAt: number): number {
  if (cosine < relatedAt) return Math.max(related * (cosine / relatedAt), 0);
  return Math.min(related + ((1 - related) * (cosine - relatedAt)) / (1 - relatedAt), 1);
}

/** The share of the query's weight that a text contains, 0 to 1. */
function coverage(counts: readonly number[], weights: readonly number[]): number {
  const [all, found] = weights.reduce(
    ([total, held], weight, index) => [total + weight, held + (counts[index]! > 0 ? weight : 0)],
    [0, 0],
  );
  return all > 0 ? found / all : 0;
}
