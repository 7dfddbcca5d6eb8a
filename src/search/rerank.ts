import type { Reranker } from '../models/reranker.ts';
import { stretch } from './ranking.ts';
import { rerankWeight } from './scoring.ts';

/**
 * Candidates in a new order: their rank by vectors and words, and how close the reranker finds them, both
 * spread over 0 to 1 among them. What is reported as their similarity stays.
 */
export async function rerank<Candidate extends { text: string; score: number }>(
  query: string,
  candidates: readonly Candidate[],
  { reranker, signal }: { reranker: Reranker; signal: AbortSignal | undefined },
): Promise<Candidate[]> {
  if (candidates.length < 2) return [...candidates];
  const texts = candidates.map(({ text }) => text);
  const scores = await reranker.score(query, texts, signal);
  const [rank, closeness] = [stretch(candidates.map(({ score }) => score)), stretch(scores)];
  const scored = candidates.map((candidate, index) => ({
    ...candidate,
    score: (1 - rerankWeight) * rank(candidate.score) + rerankWeight * closeness(scores[index]!),
  }));
  return scored.sort((a, b) => b.score - a.score);
}
