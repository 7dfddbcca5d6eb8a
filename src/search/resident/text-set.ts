import { bm25, termWeight } from '../../store/search/bm25.ts';
import type { CandidateRow } from '../../store/search/candidates.ts';
import type { CandidatePlan, Period, QueryTerm } from '../../store/search/search-plan.ts';
import type { TextRow } from '../../store/search/text-rows.ts';
import { createVectors, highest } from './nearest.ts';

/** A question about texts that are all in sight. */
export type Asked = Omit<CandidatePlan, 'access'>;

/** Texts in memory that are searched as the database would, by reading all of them. */
export interface TextSet {
  readonly size: number;
  /** So much was replaced that it should be made anew. */
  readonly isWorn: boolean;
  add(row: TextRow): void;
  /** Removes texts by their ids, and all that are of one of the documents. */
  remove(ids: readonly string[], documents: readonly string[]): void;
  /** The rows that `candidatesStatement` answers for all, without looking for keywords, and what to look for. */
  candidates(asked: Asked): { rows: CandidateRow[]; patterns: { id: string; pattern: string }[] };
}

interface Text extends Omit<TextRow, 'terms' | 'counts' | 'vector'> {
  place: number;
}

/** A place and a count in one number. */
const countLimit = 32_768;

export function createTextSet(dimensions: number): TextSet {
  const texts: (Text | undefined)[] = [];
  const byId = new Map<string, Text>();
  const byDocument = new Map<string, Set<Text>>();
  const expiring = new Set<Text>();
  const postings = new Map<string, number[]>();
  const vectors = createVectors(dimensions);
  let totalLength = 0;

  function drop(text: Text): void {
    texts[text.place] = undefined;
    byId.delete(text.id);
    expiring.delete(text);
    totalLength -= text.length;
    vectors.set(text.place, null);
    for (const document of text.documents) {
      const others = byDocument.get(document);
      others?.delete(text);
      if (others?.size === 0) byDocument.delete(document);
    }
  }

  function dropExpired(now: Date): void {
    for (const text of expiring) if (text.forgetAfter! <= now) drop(text);
  }

  const textAt = (place: number) => texts[place]!;

  /** How often each term of the query stands in each text, one text after another, and the places of those that hold one. */
  function countTerms(terms: readonly QueryTerm[]): {
    counts: Uint16Array;
    holding: Set<number>;
    frequencies: number[];
  } {
    const holding = new Set<number>();
    const counts = new Uint16Array(texts.length * terms.length);
    const frequencies = terms.map(({ forms }, index) => {
      let frequency = 0;
      for (const form of forms) {
        for (const posting of postings.get(form) ?? []) {
          const place = Math.floor(posting / countLimit);
          if (texts[place] === undefined) continue;
          const at = place * terms.length + index;
          if (counts[at] === 0) frequency += 1;
          holding.add(place);
          counts[at] = Math.max(counts[at]!, posting % countLimit);
        }
      }
      return frequency;
    });
    return { counts, holding, frequencies };
  }

  function isLone({ type, places: [place] }: Text): boolean {
    if (type === 'text' || place?.first !== 0) return false;
    return ![...byDocument.get(place.document)!].some(({ places }) => places[0]!.first === 1);
  }

  return {
    get size() {
      return byId.size;
    },
    get isWorn() {
      return texts.length > 2 * byId.size + 1_000;
    },
    add({ terms, counts, vector, ...row }) {
      const text = { ...row, place: texts.length };
      texts.push(text);
      byId.set(text.id, text);
      if (text.forgetAfter !== null) expiring.add(text);
      totalLength += text.length;
      vectors.set(text.place, vector === null ? null : numbersOf(vector));
      for (const document of text.documents) {
        const others = byDocument.get(document);
        if (others) others.add(text);
        else byDocument.set(document, new Set([text]));
      }
      if (terms === '') return;
      const each = counts.split(',');
      for (const [index, term] of terms.split(' ').entries()) {
        const posting = text.place * countLimit + Number(each[index]);
        const known = postings.get(term);
        if (known) known.push(posting);
        else postings.set(term, [posting]);
      }
    },
    remove(ids, documents) {
      for (const id of ids) {
        const text = byId.get(id);
        if (text) drop(text);
      }
      for (const document of documents) for (const text of byDocument.get(document) ?? []) drop(text);
    },
    candidates(asked) {
      dropExpired(asked.now);
      const { terms, scoring } = asked;
      const { counts, holding, frequencies } = countTerms(terms);
      const countsOf = (place: number) => counts.subarray(place * terms.length, (place + 1) * terms.length);
      const statistics = { items: byId.size, totalLength, frequencies };
      const cosines = asked.vector === null ? null : vectors.cosines(Float32Array.from(asked.vector), texts.length);
      const words = scoresOf({ size: texts.length, holding, countsOf, textAt }, asked, statistics);
      const best = (numbers: Float64Array | null) =>
        numbers === null ? [] : highest(numbers, scoring.candidates, (place) => textAt(place).id);
      const pool = [...new Set([...best(cosines), ...best(words)])].map((place) => {
        const cosine = cosines?.[place] ?? NaN;
        const text = textAt(place);
        return {
          text,
          isLone: asked.kind === 'chunks' && isLone(text),
          cosine: Number.isNaN(cosine) ? null : cosine,
          numbers: [...countsOf(place)],
        };
      });
      const rows = [statisticsRow(statistics), ...pool.flatMap((one) => rowsOf(one, asked))];
      const unrelated = pool.filter(({ cosine }) => cosine === null || cosine < scoring.relatedAt);
      const patterns = unrelated.flatMap(({ text: { id }, numbers }) =>
        patternsFor(numbers, asked, statistics).map((pattern) => ({ id, pattern })),
      );
      return { rows, patterns };
    },
  };
}

/** pgvector sends the dimensions, two unused bytes, and the numbers with the high byte first. */
function numbersOf(sent: Uint8Array): Float32Array {
  const swapped = Buffer.from(sent.subarray(4)).swap32();
  return new Float32Array(swapped.buffer, swapped.byteOffset, swapped.length / 4).slice();
}

interface Statistics {
  items: number;
  totalLength: number;
  frequencies: readonly number[];
}

interface Counted {
  /** Of places. */
  size: number;
  /** Places of texts that hold a term of the query. */
  holding: ReadonlySet<number>;
  countsOf(place: number): Uint16Array;
  textAt(place: number): Text;
}

/** By the place of a text; NaN where no term of the query stands. */
function scoresOf(
  { size, holding, countsOf, textAt }: Counted,
  { terms, scoring }: Asked,
  { items, totalLength, frequencies }: Statistics,
): Float64Array {
  const weights = terms.map(({ count }, index) => count * termWeight(items, frequencies[index]!));
  const corpus = { weights, averageLength: totalLength / Math.max(items, 1) };
  const scores = new Float64Array(size).fill(NaN);
  for (const place of holding) {
    scores[place] = bm25({ length: textAt(place).length, counts: countsOf(place) }, scoring, corpus);
  }
  return scores;
}

const nothing: Omit<CandidateRow, 'id' | 'numbers'> = {
  ...{ cosine: null, length: 0, held: false, isDated: false, type: 'text', isLone: false, isInference: false },
  ...{ statement: null, document: null, first: null, last: null, start: null, end: null, isMined: false },
};

function statisticsRow({ items, totalLength, frequencies }: Statistics): CandidateRow {
  return { ...nothing, id: null, numbers: [0, items, totalLength, ...frequencies] };
}

interface Pooled {
  text: Text;
  isLone: boolean;
  cosine: number | null;
  numbers: number[];
}

/** A memory comes once for each of its sources. */
function rowsOf({ text, isLone, cosine, numbers }: Pooled, { kind, linked, periods }: Asked): CandidateRow[] {
  const { id, type, length, isInference, statement } = text;
  const row = {
    ...{ id, type, length, isInference, statement, isLone, cosine, numbers },
    ...{ held: false, isDated: isIn(periods, text.date), isMined: linked && text.isMined },
  };
  const places = kind === 'chunks' || linked ? text.places : [];
  if (places.length === 0) return [{ ...nothing, ...row }];
  return places.map(({ document, first, last, start, end }) => ({
    ...row,
    ...{ document, first, last, start: start ?? null, end: end ?? null },
  }));
}

function isIn(periods: readonly Period[], date: Date | null): boolean {
  if (date === null) return false;
  return periods.some(({ from, to, isEachYear }) => {
    if (!isEachYear) return date >= from && date < to;
    const [day, first, last] = [date, from, to].map((one) => one.toISOString().slice(5, 10)) as [
      string,
      string,
      string,
    ];
    return first < last ? day >= first && day < last : day >= first || day < last;
  });
}

/** Those that may be in a text, by the terms that it holds. */
function patternsFor(
  numbers: readonly number[],
  { keywords, scoring: { rareItems, rareShare } }: Asked,
  { items, frequencies }: Statistics,
): string[] {
  const isRare = (terms: readonly number[]) =>
    Math.min(...terms.map((index) => frequencies[index]!)) <= Math.min(rareItems, rareShare * items);
  return keywords
    .filter(({ terms, onlyIfRare }) => terms.every((index) => numbers[index]! > 0) && (!onlyIfRare || isRare(terms)))
    .map(({ pattern }) => pattern);
}
