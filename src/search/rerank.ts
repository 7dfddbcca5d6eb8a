import type { Reranker } from '../models/reranker.ts';
import type { ResultRow } from '../store/search/results.ts';
import { rerankWeight } from './scoring.ts';

/**
 * Candidates in a new order: their rank by vectors and words, and how close the reranker finds them, both
 * spread over 0 to 1 among them. What is reported as their similarity stays.
 */
export async function rerank(
  query: string,
  rows: readonly ResultRow[],
  { reranker, signal }: { reranker: Reranker; signal: AbortSignal | undefined },
): Promise<ResultRow[]> {
  if (rows.length < 2) return [...rows];
  const texts = rows.map(({ text }) => text);
  const ranks = spread(rows.map(({ score }) => score));
  const closeness = spread(await reranker.score(query, texts, signal));
  const scored = rows.map((row, index) => ({
    row,
    score: (1 - rerankWeight) * ranks[index]! + rerankWeight * closeness[index]!,
  }));
  return scored.sort((a, b) => b.score - a.score).map(({ row, score }) => ({ ...row, score }));
}

function spread(values: readonly number[]): number[] {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  return values.map((value) => (most > least ? (value - least) / (most - least) : 0));
}
