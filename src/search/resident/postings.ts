import type { QueryTerm } from '../../store/search/search-plan.ts';

/** Which terms stand in which texts, and how often. A text is known by its place. */
interface Postings {
  /** Terms and their counts as `TextRow` has them. */
  add(place: number, terms: string, counts: string): void;
  /** What the first `size` texts hold of a query, without those that are no longer there. True until the next call. */
  count(terms: readonly QueryTerm[], size: number, isThere: (place: number) => boolean): TermCounts;
}

export interface TermCounts {
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

export function createPostings(): Postings {
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
