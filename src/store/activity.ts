import { firstOf } from '../base/collections.ts';
import type { Queryable } from './database.ts';
import { inContainers } from './documents.ts';
import { rawSql, sql } from './sql.ts';

/** Totals over the sync runs of one connection. */
export interface SourceActivityRow {
  connectionId: string;
  provider: string;
  containerTag: string;
  runs: number;
  added: number;
  updated: number;
  deleted: number;
  failed: number;
  lastAt: Date;
}

/** Of runs that have gone on since a time, the latest first; `containerTags` null: of all containers. */
export function sourceActivity(
  database: Queryable,
  containerTags: readonly string[] | null,
  since: Date,
): Promise<SourceActivityRow[]> {
  return database.query<SourceActivityRow>(sql`
    select c.id as "connectionId", c.provider, c.container_tag as "containerTag", count(*)::integer as "runs",
      sum(r.items_added)::integer as "added", sum(r.items_updated)::integer as "updated",
      sum(r.items_deleted)::integer as "deleted", sum(r.items_failed)::integer as "failed",
      max(coalesce(r.completed_at, r.heartbeat_at)) as "lastAt"
    from sync_runs r join connections c on c.id = r.connection_id
    where not r.dry_run and coalesce(r.completed_at, r.heartbeat_at) >= ${since}
      and ${inContainers(rawSql('c.container_tag'), containerTags)}
    group by c.id order by "lastAt" desc, c.id`);
}

/** Documents of nobody's connection. */
export async function countUploads(
  database: Queryable,
  containerTags: readonly string[] | null,
  since: Date,
): Promise<number> {
  const row = firstOf(
    await database.query<{ count: number }>(sql`
    select count(*)::integer as count from documents d
    where d.connection_id is null and d.deleted_at is null and d.created_at >= ${since}
      and ${inContainers(rawSql('d.container_tag'), containerTags)}`),
  );
  return row.count;
}

export interface GrowthRow {
  /** In UTC, `2026-03-01`. */
  day: string;
  documents: number;
  /** Of each document the larger of what was sent and its text. */
  bytes: number;
}

/** Documents that each day added and that still exist, in order; days without any are left out. */
export function growthByDay(
  database: Queryable,
  containerTags: readonly string[] | null,
  since: Date,
): Promise<GrowthRow[]> {
  return database.query<GrowthRow>(sql`
    select to_char(d.created_at at time zone 'UTC', 'YYYY-MM-DD') as "day", count(*)::integer as "documents",
      coalesce(sum(greatest(octet_length(c.raw), octet_length(c.bytes), octet_length(c.content))), 0)::bigint as "bytes"
    from documents d left join document_contents c on c.document_id = d.id
    where d.deleted_at is null and d.created_at >= ${since} and ${inContainers(rawSql('d.container_tag'), containerTags)}
    group by "day" order by "day"`);
}
