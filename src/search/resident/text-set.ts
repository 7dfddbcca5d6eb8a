import { bm25, termWeight } from '../../store/search/bm25.ts';
import type { QueryTerm, CandidatePlan, CorpusStatistics, Period } from '../../store/search/search-plan.ts';
import type { TextRow } from '../../store/search/text-rows.ts';
import type { Candidate, CandidateText, Place } from '../score-candidates.ts';
import { createVectors, highest } from './nearest.ts';

/** Which terms stand in which texts, and how often. A text is known by its place. */
interface Postings {
  /** Terms and their counts as `TextRow` has them. */
  add(place: number, terms: string, counts: string): void;
  /** What the first `size` texts hold of a query, without those that are no longer there. True until the next call. */
  count(terms: readonly QueryTerm[], size: number, isThere: (place: number) => boolean): TermCounts;
}

interface TermCounts {
  /** Of the texts that hold a term of the query. */
  places: readonly number[];
  /** In how many texts each term stands. */
  frequencies: readonly number[];
  /** How often each term stands in each text: term t in the text at place p at `p * terms + t`. */
  counts: Uint16Array;
}

/** A place and a count in one number; of a million texts it is one that V8 keeps without an object of its own. */
const countBits = 10;
const mostCounted = 2 ** countBits - 1;

function createPostings(): Postings {
  const postings = new Map<string, number[]>();
  // Each search would leave hundreds of kilobytes behind if it made these anew.
  let counts = new Uint16Array(0);
  let isHolding = new Uint8Array(0);

  function clear(size: number, terms: number): void {
    if (isHolding.length < size) isHolding = new Uint8Array(2 * size);
    else isHolding.fill(0, 0, size);
    if (counts.length < size * terms) counts = new Uint16Array(2 * size * terms);
    else counts.fill(0, 0, size * terms);
  }

  return {
    add(place, terms, ofEach) {
      if (terms === '') return;
      const each = ofEach.split(',');
      for (const [index, term] of terms.split(' ').entries()) {
        const posting = (place << countBits) | Math.min(Number(each[index]), mostCounted);
        const known = postings.get(term);
        if (known) known.push(posting);
        else postings.set(term, [posting]);
      }
    },
    count(terms, size, isThere) {
      clear(size, terms.length);
      const places: number[] = [];
      const frequencies = terms.map(({ forms }, index) => {
        let frequency = 0;
        for (const form of forms) {
          for (const posting of postings.get(form) ?? []) {
            const place = posting >>> countBits;
            if (!isThere(place)) continue;
            if (isHolding[place] === 0) {
              isHolding[place] = 1;
              places.push(place);
            }
            const at = place * terms.length + index;
            if (counts[at] === 0) frequency += 1;
            counts[at] = Math.max(counts[at]!, posting & mostCounted);
          }
        }
        return frequency;
      });
      return { places, frequencies, counts };
    },
  };
}

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

/** A keyword that is looked for in a text. */
export interface AskedPattern {
  id: string;
  pattern: string;
}

interface Text extends CandidateText, Pick<TextRow, 'date' | 'forgetAfter' | 'documents'> {
  place: number;
  places: readonly Place[];
}

export function createTextSet(dimensions: number): TextSet {
  const texts: (Text | undefined)[] = [];
  const byId = new Map<string, Text>();
  const byDocument = new Map<string, Set<Text>>();
  const expiring = new Set<Text>();
  const postings = createPostings();
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
      postings.add(text.place, terms, counts);
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
      const found = postings.count(terms, texts.length, (place) => texts[place] !== undefined);
      const { counts, frequencies } = found;
      const corpus = { items: byId.size, averageLength: totalLength / Math.max(byId.size, 1), frequencies };
      const cosines = asked.vector === null ? null : vectors.cosines(Float32Array.from(asked.vector), texts.length);
      const words = scoresOf({ ...found, size: texts.length, textAt }, asked, corpus);
      const best = (numbers: Float64Array | null) =>
        numbers === null ? [] : highest(numbers, scoring.candidates, (place) => textAt(place).id);
      const candidates = [...new Set([...best(cosines), ...best(words)])].map((place): Candidate => {
        const text = textAt(place);
        const cosine = cosines?.[place] ?? NaN;
        return {
          text,
          places: kind === 'chunks' || linked ? text.places : [],
          isLone: kind === 'chunks' && isLone(text),
          cosine: Number.isNaN(cosine) ? null : cosine,
          counts: terms.map((_, index) => counts[place * terms.length + index]!),
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

interface Counted extends TermCounts {
  /** Of places. */
  size: number;
  textAt(place: number): Text;
}

/** By the place of a text; NaN where no term of the query stands. */
function scoresOf(
  { size, places, counts, textAt }: Counted,
  { terms, scoring }: Asked,
  { items, averageLength, frequencies }: CorpusStatistics,
): Float64Array {
  const weights = terms.map(({ count }, index) => count * termWeight(items, frequencies[index]!));
  const corpus = { weights, averageLength };
  const scores = new Float64Array(size).fill(NaN);
  for (const place of places) {
    scores[place] = bm25({ length: textAt(place).length, counts, first: place * terms.length }, scoring, corpus);
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
