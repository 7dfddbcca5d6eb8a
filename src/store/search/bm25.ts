import { joinSql, rawSql, sql, type Sql } from '../sql.ts';
import type { CandidatePlan, CorpusStatistics, Scoring, SearchedKind } from './search-plan.ts';
import type { Queryable } from '../database.ts';
import { hiddenMemories, inScope, visible } from './conditions.ts';

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

export interface ScopeSize {
  /** Texts that the narrowing leaves, counted up to the limit and one more. */
  found: number;
  /** Terms of an average text among these. */
  averageLength: number;
  /** Texts in the containers when there are more than the limit, else null. */
  items: number | null;
  /** Texts in all containers, as the server last estimated; not above 0 when it does not know. */
  total: number;
}

/** Looks whether a scope is small. Reads `limit` texts at the most, and an index when there are more. */
export async function readScopeSize(
  database: Queryable,
  scope: Parameters<typeof visible>[0],
  limit: number,
): Promise<ScopeSize> {
  const table = rawSql(scope.kind);
  const counted = scope.kind === 'memories' ? rawSql('t.is_latest and not t.is_forgotten') : rawSql('true');
  const [row] = await database.query<ScopeSize>(sql`
    with ${joinSql(
      hiddenMemories(scope).map((table) => sql`${table}, `),
      '',
    )}sample as materialized (
      select t.term_total from ${table} t where ${visible(scope)} limit ${limit + 1}
    ), counted as materialized (
      select count(*) as found, coalesce(avg(term_total), 0)::float8 as average_length from sample
    )
    select found, average_length as "averageLength",
      case when found > ${limit} then (
        select count(*) from ${table} t where ${inScope('t', scope.containerTags)} and ${counted}
      ) end as items,
      (select reltuples::float8 from pg_class where oid = ${scope.kind}::text::regclass) as total
    from counted`);
  return row!;
}

/**
 * In how many texts of the containers each term stands, in order; counted up to the limit and one
 * more. Each is answered by the index on terms.
 */
export async function readFrequencies(
  database: Queryable,
  { kind, containerTags }: { kind: SearchedKind } & Pick<CandidatePlan, 'containerTags'>,
  terms: readonly string[],
  limit: number,
): Promise<number[]> {
  const rows = await database.query<{ frequency: number }>(sql`
    select (
      select count(*) from (
        select from ${rawSql(kind)} h where h.terms @> array[t.term] and ${inScope('h', containerTags)} limit ${limit + 1}
      ) holding
    ) as frequency
    from unnest(${terms}::text[]) with ordinality as t(term, place)
    order by t.place`);
  return rows.map((row) => row.frequency);
}
