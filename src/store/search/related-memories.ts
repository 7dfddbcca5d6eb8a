import type { Queryable } from '../database.ts';
import { isOnlyFromHidden } from '../hidden-documents.ts';
import { shownMetadata } from '../memories.ts';
import type { Filter } from '../filters.ts';
import { matchesMemory } from '../memory-lists.ts';
import { rawSql, sql, type Sql } from '../sql.ts';
import { inScope } from './conditions.ts';

/** A memory beside a found one. */
export interface RelatedMemoryRow {
  /** The memory that was found. */
  foundId: string;
  list: 'parents' | 'children' | 'related';
  id: string;
  relation: 'updates' | 'extends' | 'derives';
  memory: string;
  metadata: Record<string, unknown> | null;
  updatedAt: Date;
  /** 1 is the nearest of its list. */
  distance: number;
}

export interface RelatedMemoriesQuery {
  ids: readonly string[];
  /** Null: every container. */
  containerTags: readonly string[] | null;
  filters?: Filter;
  now: Date;
  /** Of each list. */
  limit: number;
}

/**
 * Earlier and later versions of memories, and what extends them or was derived, nearest first. A
 * relation of any version counts for all of them; at its other end only what holds now is shown. Every
 * step is by an index: no `or` in a join.
 */
export function relatedMemories(database: Queryable, query: RelatedMemoriesQuery): Promise<RelatedMemoryRow[]> {
  if (query.ids.length === 0) return Promise.resolve([]);
  return database.query<RelatedMemoryRow>(sql`
    with found as materialized (
      select m.id, m.version, coalesce(m.root_memory_id, m.id) as root from memories m where m.id = any(${query.ids}::text[])
    ), versions as materialized (
      select f.id as found_id, f.version as found_version, m.id, m.version
      from found f cross join lateral (
        select first.id, first.version from memories first where first.id = f.root
        union all
        select later.id, later.version from memories later where later.root_memory_id = f.root) m
    ), beside as (
      select found_id, case when version < found_version then 'parents' else 'children' end as list, id,
        'updates' as relation, abs(version - found_version)::float8 as far
      from versions where id <> found_id
      union all
      (select distinct on (v.found_id, other.id) v.found_id, 'related', other.id, r.relation,
        -extract(epoch from r.created_at)::float8
      from versions v cross join lateral (
          select o.to_id as id, o.relation, o.created_at from memory_relations o where o.from_id = v.id
          union all
          select i.from_id, i.relation, i.created_at from memory_relations i where i.to_id = v.id) r
        join memories other on other.id = r.id
      where r.relation in ('extends', 'derives') and other.is_latest
        and not exists (select 1 from versions s where s.found_id = v.found_id and s.id = other.id)
      order by v.found_id, other.id, r.created_at desc)
    ), ranked as (
      select b.*, m.memory, ${shownMetadata} as metadata, m.updated_at,
        row_number() over (partition by b.found_id, b.list order by b.far, b.id) as distance
      from beside b join memories m on m.id = b.id where ${visible(query)}
    )
    select found_id as "foundId", list, id, relation, memory, metadata, updated_at as "updatedAt", distance
    from ranked where distance <= ${query.limit} order by found_id, list, distance`);
}

/** On a memory `m`. */
function visible({ containerTags, filters, now }: RelatedMemoriesQuery): Sql {
  const fits = filters ? sql`${matchesMemory(filters)} and` : sql``;
  return sql`${fits} ${inScope('m', containerTags)} and not m.is_forgotten
    and (m.forget_after is null or m.forget_after > ${now}::timestamptz) and not ${isOnlyFromHidden}`;
}

/** The documents before and after one that was added in a row of others, as turns of a conversation are. */
export interface Neighbours {
  id: string;
  previous: string | null;
  next: string | null;
  /** Equal for documents of one container and day (UTC); null without a date. */
  session: string | null;
  /** Whether somebody who speaks in it or near it, at whatever time, does so twice; topics of notes do not. */
  isAmongTurns: boolean;
}

/** Documents before and after a turn in which its speaker, or another one, is looked for again. */
const besideTurn = 4;
/** What is said after a longer pause answers nothing that was said before it. */
const longestPause = '3 hours';

/**
 * In the order in which they were added to their container; those from before or after a long pause, or that are no
 * turns, are none.
 */
export function readNeighbours(database: Queryable, ids: readonly string[]): Promise<Neighbours[]> {
  return database.query<Neighbours>(sql`
    select d.id, d.container_tag || ' ' || (d.document_date at time zone 'UTC')::date as session,
      case when ${isSoonAfter('d', 'p')} then p.id end as previous,
      case when ${isSoonAfter('n', 'd')} then n.id end as next,
      (select count(*) > count(distinct split_part(left(c.content, 80), ':', 1))
        from (select d.id union all ${documentsBeside('before')} union all ${documentsBeside('after')}) w
        join chunks c on c.document_id = w.id and c.position = 0 and c.type <> 'text') as "isAmongTurns"
    from documents d
    left join lateral (
      select id, document_date from documents
      where container_tag = d.container_tag and (created_at, id) < (d.created_at, d.id)
      order by created_at desc, id desc limit 1) p on ${isTurn('p')}
    left join lateral (
      select id, document_date from documents
      where container_tag = d.container_tag and (created_at, id) > (d.created_at, d.id)
      order by created_at, id limit 1) n on ${isTurn('n')}
    where d.id = any(${ids}::text[])`);
}

function documentsBeside(side: 'before' | 'after'): Sql {
  const [is, order] = side === 'before' ? ['<', 'desc'] : ['>', 'asc'];
  return rawSql(`(select o.id from documents o
    where o.container_tag = d.container_tag and (o.created_at, o.id) ${is} (d.created_at, d.id)
    order by o.created_at ${order}, o.id ${order} limit ${besideTurn})`);
}

/** Or soon before: some add what was said last first. */
function isSoonAfter(later: 'd' | 'n', earlier: 'p' | 'd'): Sql {
  const [a, b] = [rawSql(`${later}.document_date`), rawSql(`${earlier}.document_date`)];
  return sql`(${a} is not distinct from ${b} or ${a} - ${b} between -${longestPause}::interval and ${longestPause}::interval)`;
}

function isTurn(document: 'p' | 'n'): Sql {
  return sql`exists (select from chunks where document_id = ${rawSql(document)}.id and type <> 'text')`;
}
