import { joinSql, rawSql, sql, type Sql } from '../sql.ts';
import { visibleChunks } from './conditions.ts';
import { bm25 } from './corpus.ts';
import { chunkColumns, termCounts } from './items.ts';
import type { ChunkAccess, SearchPlan } from './search-plan.ts';

type CandidateAccess = Extract<ChunkAccess, { kind: 'candidates' }>;

/** The chunks that come into question in a scope too large to read, scored like all others. */
export function chunkCandidates(plan: SearchPlan, access: CandidateAccess): Sql[] {
  const matches = plan.vector === null ? [] : [nearest(plan, access)];
  const chosen = plan.vector === null ? [] : ['select id from nearest'];
  const tiers = matchingTiers(plan, access);
  if (tiers.length > 0) {
    matches.push(holdingTerms(tiers), bestMatches(plan));
    chosen.push('select id from best_matches');
  }
  const ids = chosen.length > 0 ? chosen.join(' union ') : 'select null';
  return [
    ...matches,
    sql`chunk_items as materialized (
    select ${chunkColumns(plan)}
    from chunks c where c.id in (${rawSql(ids)})
  )`,
  ];
}

/**
 * The model's id and dimensions stand in the text, not in parameters, because the index is partial
 * and over an expression. Adding zero keeps the index out, for an answer that is exact.
 */
function nearest(plan: SearchPlan, access: CandidateAccess): Sql {
  const vector = vectorOf(plan.model.dimensions);
  const distance = sql`${vector} <=> (select vector from query)`;
  return sql`nearest as materialized (
    select c.id from chunks c
    where c.embedding_model = ${textLiteral(plan.model.id)} and ${visibleChunks(plan)}
    order by ${access.dense === 'indexed' ? distance : sql`(${distance}) + 0`}
    limit ${plan.scoring.candidates}
  )`;
}

/** The expression that the vector index of a model with so many dimensions is over. */
export function vectorOf(dimensions: number, column = 'c.embedding'): Sql {
  return rawSql(`(${column}::vector(${Math.trunc(dimensions)}))`);
}

/** A text as a literal, for the few places that take no parameter. */
export function textLiteral(text: string): Sql {
  const escaped = text.replace(
    /[^A-Za-z0-9 ._:/@-]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return rawSql(`E'${escaped}'`);
}

/**
 * Rare terms first: every chunk that holds one, as long as they are not too many. Then chunks that
 * hold all of the other terms, and only when the rare ones are in hardly any chunk, some that hold
 * the rarest of the others. A term that was in no chunk when it was counted may be in one by now.
 */
function matchingTiers(plan: SearchPlan, access: CandidateAccess): Sql[] {
  const cap = plan.scoring.lexicalCandidates;
  const found = plan.terms
    .map((term, index) => ({ term, frequency: access.frequencies[index] ?? 0 }))
    .sort((a, b) => a.frequency - b.frequency);
  const rare: string[] = [];
  let budget = cap;
  while (found.length > 0 && found[0]!.frequency <= budget) {
    const { term, frequency } = found.shift()!;
    rare.push(term);
    budget -= frequency;
  }
  const common = found.map(({ term }) => term);
  const tiers: Sql[] = [];
  if (rare.length > 0) tiers.push(tier(plan, sql`c.terms && ${rare}::text[]`, cap));
  if (common.length > 1) tiers.push(tier(plan, sql`c.terms @> ${common}::text[]`, budget));
  if (common.length > 0 && cap - budget < plan.scoring.candidates) {
    tiers.push(tier(plan, sql`c.terms @> ${common.slice(0, 1)}::text[]`, budget));
  }
  return tiers;
}

function tier(plan: SearchPlan, condition: Sql, limit: number): Sql {
  return sql`(
    select c.id, c.term_total as length${termCounts(plan, 'c')}
    from chunks c where ${condition} and ${visibleChunks(plan)} limit ${limit})`;
}

function holdingTerms(tiers: readonly Sql[]): Sql {
  return sql`matches as (${joinSql(tiers, ' union ')})`;
}

function bestMatches(plan: SearchPlan): Sql {
  return sql`best_matches as materialized (
    select id from (select m.id, ${bm25(plan, 'm')} as score from matches m, corpus) scored
    order by score desc, id limit ${plan.scoring.candidates}
  )`;
}
