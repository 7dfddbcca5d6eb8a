import { joinSql, rawSql, sql, type Sql } from '../sql.ts';
import { inScope, memoryConditions, visibleChunks } from './conditions.ts';
import type { SearchPlan } from './search-plan.ts';

/**
 * The texts that are scored, one row each: id, kind, length in terms, cosine (null without a vector
 * of the model), weight, and how often each query term stands in it (tf0, tf1, …).
 */
export function everyChunk(plan: SearchPlan): Sql {
  return sql`chunk_items as materialized (
    select ${chunkColumns(plan)}
    from chunks c where ${visibleChunks(plan)}
  )`;
}

/** Vectors of memories have no index: a scope has far fewer memories than chunks. */
export function everyMemory(plan: SearchPlan): Sql {
  const remembered =
    plan.memories === 'current'
      ? sql`not m.is_forgotten and (m.forget_after is null or m.forget_after > ${plan.now}::timestamptz)`
      : rawSql('true');
  return sql`memory_items as materialized (
    select m.id, 'memory' as kind, m.term_total as length, ${cosine(plan, 'm')} as cosine,
      case when m.is_inference then ${plan.scoring.inferenceWeight}::float8 else 1 end as weight${termCounts(plan, 'm')}
    from memories m
    where ${inScope('m', plan.containerTags)} and m.is_latest and ${remembered} and ${memoryConditions(plan)}
  )`;
}

export function chunkColumns(plan: SearchPlan): Sql {
  return sql`c.id, 'chunk' as kind, c.term_total as length, ${cosine(plan, 'c')} as cosine,
      1::float8 as weight${termCounts(plan, 'c')}`;
}

/** Vectors of other models are never compared. A zero vector has no cosine. */
function cosine(plan: SearchPlan, alias: string): Sql {
  if (plan.vector === null) return rawSql('null::float8');
  const from = rawSql(alias);
  return sql`case when ${from}.embedding_model = ${plan.model.id}::text
      then nullif(1 - (${from}.embedding <=> (select vector from query)), 'NaN') end`;
}

/** `terms` is sorted by bytes and of collation "C", so width_bucket finds a term by halving. */
export function termCounts(plan: SearchPlan, alias: string): Sql {
  const from = rawSql(alias);
  const columns = plan.terms.map((term, index) => {
    const place = sql`width_bucket(${term}::text, ${from}.terms)`;
    return sql`,
      case when ${from}.terms[${place}] = ${term}::text then ${from}.term_counts[${place}] else 0 end as ${rawSql(`tf${index}`)}`;
  });
  return joinSql(columns, '');
}
