import type { Queryable, Transaction } from './database.ts';
import { sql } from './sql.ts';

/** The target of an erasure: documents by id, a container with everything in it, or all content deleted and forgotten so far. */
export type ErasureTarget = { documentIds: string[] } | { containerTag: string } | { deleted: true };

export interface ErasureRow {
  id: string;
  target: ErasureTarget;
  rewrite: boolean;
  status: 'removing' | 'rewriting' | 'completed';
  documents: number;
  memories: number;
  problem: string | null;
  notRewritten: string[];
  createdAt: Date;
  finishedAt: Date | null;
}

const columns = sql`id, target, rewrite, status, documents, memories, problem, not_rewritten as "notRewritten",
  created_at as "createdAt", finished_at as "finishedAt"`;

export async function insertErasure(
  database: Queryable,
  { id, target, rewrite }: Pick<ErasureRow, 'id' | 'target' | 'rewrite'>,
  now: Date,
): Promise<void> {
  await database.execute(sql`
    insert into erasures (id, target, rewrite, status, created_at, updated_at)
    values (${id}, ${JSON.stringify(target)}::jsonb, ${rewrite}, 'removing', ${now}, ${now})`);
}

export async function findErasure(database: Queryable, id: string): Promise<ErasureRow | null> {
  const [row] = await database.query<ErasureRow>(sql`select ${columns} from erasures where id = ${id}`);
  return row ?? null;
}

/** Those whose rows are not all gone and that nobody has worked on since a time, oldest first. */
export function stalledErasures(database: Queryable, before: Date): Promise<ErasureRow[]> {
  return database.query<ErasureRow>(sql`
    select ${columns} from erasures
    where finished_at is null and status = 'removing' and updated_at < ${before} order by id`);
}

/** Those whose files are to be rewritten; of those that came to no end, only those tried before a time. */
export async function erasuresToRewrite(database: Queryable, triedBefore: Date): Promise<string[]> {
  const rows = await database.query<{ id: string }>(sql`
    select id from erasures
    where finished_at is null and status = 'rewriting' and (problem is null or updated_at < ${triedBefore}) order by id`);
  return rows.map(({ id }) => id);
}

/** Some rows are gone; in the transaction in which they went. */
export async function noteErased(
  tx: Transaction,
  id: string,
  { documents, memories }: { documents: number; memories: number },
  now: Date,
): Promise<void> {
  await tx.execute(sql`
    update erasures set documents = documents + ${documents}, memories = memories + ${memories}, updated_at = ${now}
    where id = ${id}`);
}

/** All rows are gone. */
export async function endRemoving(tx: Transaction, id: string, now: Date): Promise<void> {
  await tx.execute(sql`
    update erasures set status = case when rewrite then 'rewriting' else 'completed' end,
      finished_at = case when not rewrite then ${now}::timestamptz end, updated_at = ${now}
    where id = ${id} and status = 'removing'`);
}

export async function endRewriting(
  database: Queryable,
  ids: readonly string[],
  notRewritten: readonly string[],
  now: Date,
): Promise<void> {
  await database.execute(sql`
    update erasures set status = 'completed', problem = null, not_rewritten = ${notRewritten}::text[],
      updated_at = ${now}, finished_at = ${now}
    where id = any(${ids}::text[])`);
}

export async function noteRewritingProblem(
  database: Queryable,
  ids: readonly string[],
  problem: string,
  now: Date,
): Promise<void> {
  await database.execute(sql`
    update erasures set problem = ${problem}, updated_at = ${now} where id = any(${ids}::text[])`);
}

export async function deleteOldErasures(database: Queryable, finishedBefore: Date): Promise<number> {
  return database.execute(sql`delete from erasures where finished_at < ${finishedBefore}`);
}
