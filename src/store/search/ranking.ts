import { joinSql, rawSql, sql, type Sql } from '../sql.ts';
import { bm25, coverage } from './corpus.ts';
import type { Keyword, SearchPlan } from './search-plan.ts';

/** From `chunk_items`, `memory_items` and `corpus` to `top`: the results, with fused score and similarity. */
export function rankingTables(plan: SearchPlan): Sql[] {
  return [scored(plan), pool(plan), fused(plan), similar(plan), top(plan)];
}

function scored(plan: SearchPlan): Sql {
  const names = [...(plan.chunks ? ['chunk_items'] : []), ...(plan.memories ? ['memory_items'] : [])];
  const items = names.map((name) => `select * from ${name}`).join(' union all ');
  return sql`scored as materialized (
    select i.*, ${bm25(plan, 'i')} as bm25
    from (${rawSql(items)}) i, corpus
  )`;
}

/** The best of each arm. Both scores of each are known, so nothing is missing when they are fused. */
function pool(plan: SearchPlan): Sql {
  return sql`pool as materialized (
    select s.* from scored s where s.id in (
      (select id from scored where cosine is not null order by cosine desc, id limit ${plan.scoring.candidates})
      union
      (select id from scored where bm25 > 0 order by bm25 desc, id limit ${plan.scoring.candidates}))
  )`;
}

/**
 * What has no vector of the model is judged by its words alone. Similarities have 6 decimals, as
 * stored vectors have, so that one at the threshold does not fall below it by rounding.
 */
function fused(plan: SearchPlan): Sql {
  const { denseWeight, lexicalWeight } = plan.scoring;
  const lexical = minMax('p.bm25');
  return sql`fused as materialized (
    select p.*,
      p.weight * coalesce(${denseWeight}::float8 * ${minMax('p.cosine')} + ${lexicalWeight}::float8 * ${lexical}, ${lexical}) as score,
      round(coalesce(${calibrated(plan)}, ${coverage(plan, 'p')})::numeric, 6)::float8 as own_similarity
    from pool p, corpus
  )`;
}

/** Stretches a column's values to 0…1 over all rows, or to 1 when they are equal; null stays null. */
export function minMax(column: string): Sql {
  return rawSql(`(case when max(${column}) over () > min(${column}) over ()
      then (${column} - min(${column}) over ()) / (max(${column}) over () - min(${column}) over ())
      else ${column} - ${column} + 1 end)`);
}

/** 0 at a cosine of 0 and below, `related` at the model's `relatedAt`, 1 at 1, straight lines between. */
function calibrated({ scoring: { related, relatedAt } }: SearchPlan): Sql {
  return sql`(case when p.cosine is null then null
        when p.cosine < ${relatedAt}::float8
        then greatest(${related}::float8 * (p.cosine / ${relatedAt}::float8), 0)
        else least(${related}::float8 + ${1 - related}::float8 * (p.cosine - ${relatedAt}::float8) / ${1 - relatedAt}::float8, 1) end)`;
}

function similar(plan: SearchPlan): Sql {
  const { related } = plan.scoring;
  const held = plan.keywords.map((keyword) => holds(plan, keyword));
  if (held.length === 0) return rawSql('ranked as (select id, kind, score, own_similarity as similarity from fused)');
  return sql`ranked as materialized (
    select f.id, f.kind, f.score,
      case when f.own_similarity >= ${related}::float8 then f.own_similarity
        when ${joinSql(held, ' or ')} then ${related}::float8
        else f.own_similarity end as similarity
    from fused f, corpus
  )`;
}

/** The text is only read when the terms say that the keyword may be in it. */
function holds(plan: SearchPlan, keyword: Keyword): Sql {
  const guards = keyword.terms.map((index) => rawSql(`f.tf${index} > 0`));
  if (keyword.onlyIfRare) guards.push(isRare(plan, keyword));
  const matched = sql`${textOf(plan)} ~* ${keyword.pattern}::text`;
  return guards.length === 0 ? matched : sql`case when ${joinSql(guards, ' and ')} then ${matched} else false end`;
}

function isRare({ scoring }: SearchPlan, keyword: Keyword): Sql {
  const rarest = rawSql(`least(${keyword.terms.map((index) => `corpus.df${index}`).join(', ')})`);
  return sql`${rarest} <= least(${scoring.rareItems}::float8, ${scoring.rareShare}::float8 * corpus.items)`;
}

function textOf(plan: SearchPlan): Sql {
  const chunk = `(select concat_ws(' ', c.context, c.content) from chunks c where c.id = f.id)`;
  const memory = `(select m.memory from memories m where m.id = f.id)`;
  if (plan.chunks && plan.memories) return rawSql(`(case when f.kind = 'chunk' then ${chunk} else ${memory} end)`);
  return rawSql(plan.chunks ? chunk : memory);
}

function top(plan: SearchPlan): Sql {
  return sql`top as materialized (
    select id, kind, score, similarity from ranked
    where similarity >= ${plan.threshold}::float8
    order by score desc, id limit ${plan.limit}
  )`;
}
