import { bm25, termWeight } from '../../store/search/bm25.ts';
import type { CandidatePlan, CorpusStatistics, Period, QueryTerm } from '../../store/search/search-plan.ts';
import type { TextRow } from '../../store/search/text-rows.ts';
import type { Candidate, CandidateText, Place } from '../candidates.ts';
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
  /** What `candidatesStatement` finds in all, without looking for keywords, and those that may be in a text. */
  candidates(asked: Asked): { corpus: CorpusStatistics; candidates: Candidate[]; patterns: AskedPattern[] };
}

interface AskedPattern {
  id: string;
  pattern: string;
}

interface Text extends CandidateText, Pick<TextRow, 'date' | 'forgetAfter' | 'documents'> {
  place: number;
  places: readonly Place[];
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

  /** How often each term of the query stands in the texts that hold one, and in how many each of them stands. */
  function countTerms(terms: readonly QueryTerm[]): { counts: Map<number, number[]>; frequencies: number[] } {
    const counts = new Map<number, number[]>();
    const frequencies = terms.map(({ forms }, index) => {
      let frequency = 0;
      for (const form of forms) {
        for (const posting of postings.get(form) ?? []) {
          const place = Math.floor(posting / countLimit);
          if (texts[place] === undefined) continue;
          const known = counts.get(place);
          const own = known ?? new Array<number>(terms.length).fill(0);
          if (known === undefined) counts.set(place, own);
          if (own[index] === 0) frequency += 1;
          own[index] = Math.max(own[index]!, posting % countLimit);
        }
      }
      return frequency;
    });
    return { counts, frequencies };
  }

  function isLone({ type, places }: Text): boolean {
    if (type === 'text' || places[0]?.first !== 0) return false;
    for (const other of byDocument.get(places[0].document)!) if (other.places[0]!.first === 1) return false;
    return true;
  }

  return {
    get size() {
      return byId.size;
    },
    get isWorn() {
      return texts.length > 2 * byId.size + 1_000;
    },
    add({ terms, counts, vector, places, ...row }) {
      const text = { ...row, place: texts.length, places: places.flatMap(knownPlace) };
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
      const { kind, terms, scoring, linked, periods } = asked;
      const { counts, frequencies } = countTerms(terms);
      const corpus = { items: byId.size, averageLength: totalLength / Math.max(byId.size, 1), frequencies };
      const cosines = asked.vector === null ? null : vectors.cosines(Float32Array.from(asked.vector), texts.length);
      const words = scoresOf({ size: texts.length, counts, textAt }, asked, corpus);
      const best = (numbers: Float64Array | null) =>
        numbers === null ? [] : highest(numbers, scoring.candidates, (place) => textAt(place).id);
      const none = terms.map(() => 0);
      const candidates = [...new Set([...best(cosines), ...best(words)])].map((place): Candidate => {
        const text = textAt(place);
        const cosine = cosines?.[place] ?? NaN;
        return {
          text,
          places: kind === 'chunks' || linked ? text.places : [],
          isLone: kind === 'chunks' && isLone(text),
          cosine: Number.isNaN(cosine) ? null : cosine,
          counts: counts.get(place) ?? none,
          holdsKeyword: false,
          isDated: isIn(periods, text.date),
        };
      });
      return { corpus, candidates, patterns: patternsFor(candidates, asked, corpus) };
    },
  };
}

/** Without one where it is not known. */
function knownPlace({ document, first, last, start, end }: TextRow['places'][number]): Place[] {
  return first === null || last === null ? [] : [{ document, first, last, start: start ?? null, end: end ?? null }];
}

/** pgvector sends the dimensions, two unused bytes, and the numbers with the high byte first. */
function numbersOf(sent: Uint8Array): Float32Array {
  const swapped = Buffer.from(sent.subarray(4)).swap32();
  return new Float32Array(swapped.buffer, swapped.byteOffset, swapped.length / 4).slice();
}

interface Counted {
  /** Of places. */
  size: number;
  /** Of the terms of the query, by the places of the texts that hold one. */
  counts: ReadonlyMap<number, readonly number[]>;
  textAt(place: number): Text;
}

/** By the place of a text; NaN where no term of the query stands. */
function scoresOf(
  { size, counts, textAt }: Counted,
  { terms, scoring }: Asked,
  { items, averageLength, frequencies }: CorpusStatistics,
): Float64Array {
  const weights = terms.map(({ count }, index) => count * termWeight(items, frequencies[index]!));
  const corpus = { weights, averageLength };
  const scores = new Float64Array(size).fill(NaN);
  for (const [place, own] of counts) {
    scores[place] = bm25({ length: textAt(place).length, counts: own }, scoring, corpus);
  }
  return scores;
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

/** Keywords that may be in a text whose vector does not say that it is related, by the terms that it holds. */
function patternsFor(
  candidates: readonly Candidate[],
  { keywords, scoring: { rareItems, rareShare, relatedAt } }: Asked,
  { items, frequencies }: CorpusStatistics,
): AskedPattern[] {
  const isRare = (terms: readonly number[]) =>
    Math.min(...terms.map((index) => frequencies[index]!)) <= Math.min(rareItems, rareShare * items);
  const wanted = keywords.filter(({ terms, onlyIfRare }) => !onlyIfRare || isRare(terms));
  if (wanted.length === 0) return [];
  return candidates
    .filter(({ cosine }) => cosine === null || cosine < relatedAt)
    .flatMap(({ text: { id }, counts }) =>
      wanted.filter(({ terms }) => terms.every((index) => counts[index]! > 0)).map(({ pattern }) => ({ id, pattern })),
    );
}
