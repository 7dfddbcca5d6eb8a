import type { SearchResult } from './search.ts';

/** Characters that passages which follow each other have in common: whole sentences, where there are any. */
const [leastInCommon, mostInCommon] = [16, 4_000];

/**
 * Passages of one document that follow each other become one, with the text in its order and the id and
 * similarity of the best of them.
 */
export function mergePassages(results: readonly SearchResult[]): SearchResult[] {
  const merged: SearchResult[] = [];
  const taken = new Set<SearchResult>();
  for (const best of results) {
    if (taken.has(best)) continue;
    const passages = neighboursOf(best, results);
    for (const one of passages) taken.add(one);
    merged.push({ ...best, text: passages.map(({ text }) => text).reduce(joinedPassages) });
  }
  return merged;
}

/** A result with those that stand right before and after it in its document, in their order there. */
function neighboursOf(result: SearchResult, results: readonly SearchResult[]): SearchResult[] {
  const id = documentOf(result);
  if (id === null || result.position === null) return [result];
  const byPosition = new Map(results.filter((one) => documentOf(one) === id).map((one) => [one.position, one]));
  let first = result.position;
  while (byPosition.has(first - 1)) first -= 1;
  const passages: SearchResult[] = [];
  for (let one = byPosition.get(first); one; one = byPosition.get(first + passages.length)) passages.push(one);
  return passages;
}

function documentOf({ kind, documents: [document] }: SearchResult): string | null {
  return kind === 'chunk' && document ? document.id : null;
}

/** Joins two passages, with the overlap of one's end and the other's start only once. */
function joinedPassages(before: string, after: string): string {
  for (let length = Math.min(before.length, after.length, mostInCommon); length >= leastInCommon; length--) {
    if (before.endsWith(after.slice(0, length))) return before + after.slice(length);
  }
  return `${before}\n\n${after}`;
}
