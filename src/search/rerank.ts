import type { Reranker } from '../models/reranker.ts';
import { stretch } from './ranking.ts';
import { rerankedCandidates, rerankWeight } from './scoring.ts';

/**
 * The best candidates in a new order: their rank by vectors and words, and how close the reranker finds them,
 * both spread over 0 to 1 among them. The others follow as they were. What is reported as their similarity stays.
 */
export async function rerank<Candidate extends { text: string; score: number }>(
  query: string,
  candidates: readonly Candidate[],
  { reranker, signal }: { reranker: Reranker; signal: AbortSignal | undefined },
): Promise<Candidate[]> {
  if (candidates.length < 2) return [...candidates];
  const [best, others] = [candidates.slice(0, rerankedCandidates), candidates.slice(rerankedCandidates)];
  const texts = best.map(({ text }) => text);
  const scores = await reranker.score(query, texts, signal);
  const [rank, closeness] = [stretch(best.map(({ score }) => score)), stretch(scores)];
  const scored = best.map((candidate, index) => ({
    ...candidate,
    score: (1 - rerankWeight) * rank(candidate.score) + rerankWeight * closeness(scores[index]!),
  }));
  return [...scored.sort((a, b) => b.score - a.score), ...others];
}
