import { queryTerms } from '../engine/terms.ts';
import { bestScores, type Scored } from './score-candidates.ts';
import { rewriteWeight } from './ranking-constants.ts';

/** Each costs a search. */
const maxWordings = 4;
const minTermsOfPart = 2;

const question =
  /^(?:(?:please|can you|could you|do you know|tell me|show me|find|remind me|what|when|where|which|who|whom|whose|why|how|is|are|was|were|am|does|do|did|has|have|had|can|could|should|would|will|many|much|long|often|about|of|me|the|a|an)\b[\s,]*)+/i;
const joint = /[?;]\s+|(?:,\s*)?\b(?:and|or|but|as well as)\b\s+/i;

/**
 * A query that asks for several things, what it asks without the words of a question, and its parts; the query comes
 * first. One that asks for one thing is itself alone: other wordings of it found nothing more.
 */
export function wordingsOf(query: string): string[] {
  const content = new Set(queryTerms(query));
  const isWorthIt = (part: string) => queryTerms(part).filter((term) => content.has(term)).length >= minTermsOfPart;
  const asked = statementOf(query);
  const parts = asked.split(joint).map(statementOf).filter(isWorthIt);
  const wordings = parts.length > 1 ? [query, asked, ...parts] : [query];
  const seen = new Set<string>();
  const isNew = (wording: string, index: number) => {
    const key = withoutEnd(wording).toLowerCase();
    const isKnown = key === '' || seen.has(key);
    seen.add(key);
    return index === 0 || !isKnown;
  };
  return wordings.filter(isNew).slice(0, maxWordings);
}

const withoutEnd = (text: string) => text.trim().replace(/(?<![?.!\s])[?.!\s]+$/, '');
const statementOf = (text: string) => withoutEnd(text.trim().replace(question, ''));

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
      merged.set(one.id, { ...one, similarity, scores, score: (known?.score ?? 0) + weight * one.score });
    }
  }
  return [...merged.values()];
}
