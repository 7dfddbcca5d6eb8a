import { joinSql, rawSql, sql, type Sql } from '../sql.ts';
import type { CandidatePlan, CorpusStatistics, Scoring } from './search-plan.ts';

/** Robertson and Sparck Jones' weight in the form that is never negative; a count that is old may exceed `items`. */
export function termWeight(items: number, frequency: number): number {
  return Math.log(1 + (Math.max(items - frequency, 0) + 0.5) / (frequency + 0.5));
}

/** BM25 of a text in which term i stands `counts[first + i]` times; `first` is 0 unless given. */
export function bm25(
  { length, counts, first = 0 }: { length: number; counts: ArrayLike<number>; first?: number },
  { saturation, lengthCorrection }: Scoring,
  corpus: { weights: readonly number[]; averageLength: number },
): number {
  const norm = saturation * (1 - lengthCorrection + (lengthCorrection * length) / Math.max(corpus.averageLength, 1));
  let score = 0;
  for (let index = 0; index < corpus.weights.length; index++) {
    const count = counts[first + index]!;
    score += (corpus.weights[index]! * count * (saturation + 1)) / (count + norm);
  }
  return score;
}

/**
 * One row about the texts that were read: how many there are, their terms in all, and in how many
 * of them each query term stands (df0, …) with its weight (idf0, …).
 */
export function corpusTable({ terms }: CandidatePlan): Sql {
  const counts = terms.map((_, index) => `, count(*) filter (where tf${index} > 0)::float8 as df${index}`).join('');
  const weights = terms.map(({ count }, index) => {
    const weight = `ln(1 + (items - df${index} + 0.5) / (df${index} + 0.5))`;
    return `, ${count === 1 ? '' : `${count} * `}${weight} as idf${index}`;
  });
  return rawSql(`corpus as materialized (
    select *${weights.join('')}
    from (select count(*)::float8 as items, coalesce(sum(length), 0)::float8 as total_length${counts} from items) counted
  )`);
}

/** The BM25 score, for rows with term counts and their `norm`. */
export function scoreBy(weights: readonly Sql[]): Sql {
  if (weights.length === 0) return rawSql('0');
  return joinSql(
    weights.map((weight, index) => sql`${weight} * ${rawSql(`tf${index} / (tf${index} + norm)`)}`),
    ' + ',
  );
}

export const countedWeights = ({ terms }: CandidatePlan): Sql[] =>
  terms.map((_, index) => rawSql(`corpus.idf${index}`));

export function knownWeights({ terms }: CandidatePlan, { items, frequencies }: CorpusStatistics): Sql[] {
  return terms.map(({ count }, index) => sql`${count * termWeight(items, frequencies[index] ?? 0)}::float8`);
}

/** How much of a term saturates a text of this length. */
export function normOf({ saturation, lengthCorrection }: Scoring, length: Sql, averageLength: Sql): Sql {
  return sql`(${saturation * (1 - lengthCorrection)}::float8
    + ${saturation * lengthCorrection}::float8 * ${length} / greatest(${averageLength}, 1))`;
}
