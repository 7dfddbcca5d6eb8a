import type { CandidateRow } from '../store/search/candidates.ts';
import type { CandidatePlan, CorpusStatistics } from '../store/search/search-plan.ts';

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
