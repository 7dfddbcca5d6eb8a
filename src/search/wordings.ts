import { queryTerms } from '../engine/terms.ts';
import type { ResultRow } from '../store/search/results.ts';
import { rewriteWeight } from './scoring.ts';

/** Each costs a search. */
const maxWordings = 4;
const minTermsOfPart = 2;

const question =
  /^(?:(?:please|can you|could you|do you know|tell me|show me|find|remind me|what|when|where|which|who|whom|whose|why|how|is|are|was|were|am|does|do|did|has|have|had|can|could|should|would|will|many|much|long|often|about|of|me|the|a|an)\b[\s,]*)+/i;
const joint = /[?;]\s+|(?:,\s*)?\b(?:and|or|but|as well as)\b\s+/i;

/** A query, what it asks without the words of a question, and the parts that it is made of. The query comes first. */
export function wordingsOf(query: string): string[] {
  const content = new Set(queryTerms(query));
  const isWorthIt = (part: string) => queryTerms(part).filter((term) => content.has(term)).length >= minTermsOfPart;
  const asked = statementOf(query);
  const parts = asked.split(joint).map(statementOf).filter(isWorthIt);
  const wordings = [query, asked, ...(parts.length > 1 ? parts : [])];
  const keys = wordings.map((wording) => withoutEnd(wording).toLowerCase());
  const isNew = (_: string, index: number) =>
    index === 0 || (keys[index] !== '' && keys.indexOf(keys[index]!) === index);
  return wordings.filter(isNew).slice(0, maxWordings);
}

const withoutEnd = (text: string) => text.trim().replace(/[?.!\s]+$/, '');
const statementOf = (text: string) => withoutEnd(text.trim().replace(question, ''));

/**
 * What several wordings found as one list, that of the query first: by the sum of the scores (Fox and Shaw,
 * "Combination of multiple searches", 1994), with the best similarity of each.
 */
export function mergeRankings(rankings: readonly (readonly ResultRow[])[]): ResultRow[] {
  const merged = new Map<string | null, ResultRow>();
  for (const [index, rows] of rankings.entries()) {
    const weight = index === 0 ? 1 : rewriteWeight;
    for (const row of rows) {
      const known = merged.get(row.id);
      const best = known && known.similarity >= row.similarity ? known : row;
      merged.set(row.id, { ...best, score: (known?.score ?? 0) + weight * row.score });
    }
  }
  return [...merged.values()].sort((a, b) => b.score - a.score || (a.id! < b.id! ? -1 : 1));
}
