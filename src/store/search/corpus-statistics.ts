import type { Queryable } from '../database.ts';
import { sql } from '../sql.ts';
import { inScope, visibleChunks, type Narrowing } from './conditions.ts';

export interface ScopeSize {
  /** Chunks that the narrowing leaves, counted up to the limit and one more. */
  found: number;
  /** Terms of an average chunk among these. */
  averageLength: number;
  /** Chunks in the containers when there are more than the limit, else null. */
  items: number | null;
  /** Chunks in all containers, as the server last estimated; not above 0 when it does not know. */
  total: number;
}

/** Looks whether a scope is small. Reads `limit` chunks at the most, and an index when there are more. */
export async function readScopeSize(
  database: Queryable,
  narrowing: Omit<Narrowing, 'docId'>,
  limit: number,
): Promise<ScopeSize> {
  const [row] = await database.query<ScopeSize>(sql`
    with sample as materialized (
      select c.term_total from chunks c where ${visibleChunks(narrowing)} limit ${limit + 1}
    ), counted as materialized (
      select count(*) as found, coalesce(avg(term_total), 0)::float8 as average_length from sample
    )
    select found, average_length as "averageLength",
      case when found > ${limit} then (
        select count(*) from chunks c where ${inScope('c', narrowing.containerTags)}
      ) end as items,
      (select reltuples::float8 from pg_class where oid = 'chunks'::regclass) as total
    from counted`);
  return row!;
}

/**
 * In how many chunks of the containers each term stands, in order; counted up to the limit and one
 * more. Each is answered by the index on terms.
 */
export async function readFrequencies(
  database: Queryable,
  containerTags: readonly string[] | null,
  terms: readonly string[],
  limit: number,
): Promise<number[]> {
  const rows = await database.query<{ frequency: number }>(sql`
    select (
      select count(*) from (
        select from chunks c where c.terms @> array[t.term] and ${inScope('c', containerTags)} limit ${limit + 1}
      ) holding
    ) as frequency
    from unnest(${terms}::text[]) with ordinality as t(term, place)
    order by t.place`);
  return rows.map((row) => row.frequency);
}
