import type { Queryable } from '../database.ts';
import { joinSql, rawSql, sql } from '../sql.ts';
import { hiddenMemories, inScope, visible } from './conditions.ts';
import type { CandidatePlan, SearchedKind } from './search-plan.ts';

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
