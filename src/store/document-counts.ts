import type { Queryable } from './database.ts';
import { inContainers } from './documents.ts';
import { isToBeRead, lacksVectors } from './processing.ts';
import { rawSql, sql, type Sql } from './sql.ts';

export interface DocumentCount {
  total: number;
  waiting: number;
  failed: number;
  /** Of those that failed, the ones of no connection. */
  failedUploads: number;
}

/** How many there are, how many of them are still to be processed, and how many could not be. */
export async function countDocuments(database: Queryable, where: Sql): Promise<DocumentCount> {
  const [row] = await database.query<DocumentCount>(sql`
    select count(*) as total, count(*) filter (where d.status not in ('done', 'failed', 'unknown')) as waiting,
      count(*) filter (where d.status = 'failed') as failed,
      count(*) filter (where d.status = 'failed' and d.connection_id is null) as "failedUploads"
    from documents d where d.deleted_at is null and ${where}`);
  return row!;
}

export interface StatusCount {
  status: string;
  count: number;
}

export async function countByStatus(database: Queryable, tags: readonly string[] | null): Promise<StatusCount[]> {
  return database.query(sql`
    select d.status, count(*) as count from documents d
    where d.deleted_at is null and ${inContainers(rawSql('d.container_tag'), tags)}
    group by d.status`);
}

/** Of those that are still to be processed and for which `where` holds. Reads no others, by their two indexes. */
export async function countOpenByStatus(database: Queryable, where: Sql): Promise<StatusCount[]> {
  return database.query(sql`
    select status, count(*) as count from (
      select d.status from documents d where ${isToBeRead} and ${where}
      union all
      select d.status from documents d where ${lacksVectors} and ${where}) open
    group by status`);
}
