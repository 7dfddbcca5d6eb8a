import { vectorText } from '../vector-text.ts';
import { joinSql, rawSql, sql, type Sql } from '../sql.ts';
import { chunkCandidates } from './candidates.ts';
import { wantedDocuments } from './conditions.ts';
import { corpusTable } from './corpus.ts';
import { everyChunk, everyMemory } from './items.ts';
import { rankingTables } from './ranking.ts';
import { resultRows } from './results.ts';
import type { SearchPlan } from './search-plan.ts';

/** A whole search as one statement, whose rows are `ResultRow`s: one round trip, one snapshot. */
export function searchStatement(plan: SearchPlan): Sql {
  const tables = [
    ...queryTable(plan),
    ...wantedDocuments(plan),
    ...(plan.memories ? [everyMemory(plan)] : []),
    ...(plan.chunks?.kind === 'all' ? [everyChunk(plan)] : []),
    corpusTable(plan),
    ...(plan.chunks?.kind === 'candidates' ? chunkCandidates(plan, plan.chunks) : []),
    ...rankingTables(plan),
  ];
  return sql`with ${joinSql(tables, ',\n  ')}${resultRows(plan)}`;
}

/**
 * The query's vector, once. Where the vector index may be used its settings are made here, for this
 * statement alone: the scan reads them when it starts, and it starts with this vector. Relaxed
 * order goes on after the first candidates until the limit is reached; the ranking sorts again.
 */
function queryTable(plan: SearchPlan): Sql[] {
  if (plan.vector === null) return [];
  const indexed = plan.chunks?.kind === 'candidates' && plan.chunks.dense === 'indexed';
  const settings = indexed
    ? sql`, set_config('hnsw.ef_search', ${String(plan.scoring.indexSearchSize)}, true),
      set_config('hnsw.iterative_scan', 'relaxed_order', true)`
    : rawSql('');
  return [sql`query as materialized (select ${vectorText(plan.vector)}::vector as vector${settings})`];
}
