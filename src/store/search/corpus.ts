import { joinSql, rawSql, sql, type Sql } from '../sql.ts';
import type { CorpusStatistics, SearchPlan } from './search-plan.ts';

const nothing: CorpusStatistics = { items: 0, averageLength: 0, frequencies: [] };

/**
 * One row about the searched texts: how many there are (items), BM25's length factors, and for each
 * query term in how many texts it stands (df0, …) and its weight (idf0, …). What the plan knows of
 * chunks that are not all read is added to what is counted.
 */
export function corpusTable(plan: SearchPlan): Sql {
  const known = plan.chunks?.kind === 'candidates' ? plan.chunks : nothing;
  const weights = plan.terms.map((_, index) => rawSql(`, df${index}, ${weightOf(index)} as idf${index}`));
  const { saturation, lengthCorrection } = plan.scoring;
  return sql`corpus as materialized (
    select items, ${saturation * (1 - lengthCorrection)}::float8 as length_base,
      ${saturation * lengthCorrection}::float8 / greatest(total_length / greatest(items, 1), 1) as length_slope${joinSql(weights, '')}
    from (${countedTexts(plan, known)}) counted
  )`;
}

function countedTexts(plan: SearchPlan, known: CorpusStatistics): Sql {
  const counts = plan.terms.map(
    (_, index) =>
      sql`, ${known.frequencies[index] ?? 0}::float8 + count(*) filter (where ${rawSql(`tf${index}`)} > 0) as ${rawSql(`df${index}`)}`,
  );
  const tables = [
    ...(plan.chunks?.kind === 'all' ? ['chunk_items'] : []),
    ...(plan.memories === null ? [] : ['memory_items']),
  ];
  const from = tables.map((table) => `select * from ${table}`).join(' union all ');
  const counted = tables.length > 0 ? rawSql(`(${from})`) : sql`(select 0 as length${zeroCounts(plan)} where false)`;
  return sql`select ${known.items}::float8 + count(*) as items,
        ${known.items * known.averageLength}::float8 + coalesce(sum(length), 0) as total_length${joinSql(counts, '')}
      from ${counted} texts`;
}

function zeroCounts(plan: SearchPlan): Sql {
  return rawSql(plan.terms.map((_, index) => `, 0 as tf${index}`).join(''));
}

/** Robertson and Sparck Jones' weight in the form that is never negative; a count that is old may exceed `items`. */
function weightOf(index: number): string {
  return `ln(1 + (greatest(items - df${index}, 0) + 0.5) / (df${index} + 0.5))`;
}

/** The BM25 score of an item. */
export function bm25(plan: SearchPlan, item: string): Sql {
  if (plan.terms.length === 0) return rawSql('0::float8');
  const parts = plan.terms.map((_, index) => {
    const count = `${item}.tf${index}`;
    return `corpus.idf${index} * ${count} / (${count} + corpus.length_base + corpus.length_slope * ${item}.length)`;
  });
  return sql`${plan.scoring.saturation + 1}::float8 * (${rawSql(parts.join(' + '))})`;
}

/** What part of the query's weight stands in an item, 0 to 1. */
export function coverage(plan: SearchPlan, item: string): Sql {
  if (plan.terms.length === 0) return rawSql('0::float8');
  const found = plan.terms.map((_, index) => `case when ${item}.tf${index} > 0 then corpus.idf${index} else 0 end`);
  const all = plan.terms.map((_, index) => `corpus.idf${index}`);
  return rawSql(`(${found.join(' + ')}) / (${all.join(' + ')})`);
}
