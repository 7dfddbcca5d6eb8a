import type { Reranker } from '../models/reranker.ts';
import { signsOfAnswer } from './answers.ts';
import { answerWeight, rerankWeight } from './ranking-constants.ts';
import { stretch, type Scored } from './score-candidates.ts';

export interface RerankOptions {
  query: string;
  /** Of the candidates that are scored again, by id. */
  texts: ReadonlyMap<string, string>;
  reranker: Reranker;
  signal?: AbortSignal | undefined;
}

/**
 * Scores those candidates again of which the texts are known: by how close the reranker finds them, and by the signs
 * of an answer that they show, both in parts of the range that their scores have. The others keep their scores. What
 * stands around a turn is not looked at here: it shares in these scores as in those before.
 */
export async function scoreAgain(ranked: readonly Scored[], options: RerankOptions): Promise<Scored[]> {
  const { query, texts, reranker, signal } = options;
  const known = ranked.filter(({ id }) => texts.has(id));
  if (known.length < 2) return [...ranked];
  const closeness = await reranker.score(
    query,
    known.map(({ id }) => texts.get(id)!),
    signal,
  );
  const close = stretch(closeness);
  const scores = known.map(({ score }) => score);
  const [low, high] = [Math.min(...scores), Math.max(...scores)];
  const range = high - low;
  const signs = signsOfAnswer(query);
  const again = new Map(
    known.map(({ id, type, score }, index) => {
      const weight = type === 'text' ? rerankWeight.page : rerankWeight.other;
      const own = (1 - weight) * score + weight * (low + range * close(closeness[index]!));
      return [id, own + answerWeight * range * signs(texts.get(id)!, type)];
    }),
  );
  return ranked.map((one) => ({ ...one, score: again.get(one.id) ?? one.score }));
}
