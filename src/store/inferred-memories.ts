import type { Database, Queryable, Transaction } from './database.ts';
import { isOnlyFromHidden } from './hidden-documents.ts';
import { sql } from './sql.ts';

/** A memory that was concluded from others and that nobody has judged yet. */
export interface InferredMemory {
  id: string;
  memory: string;
  /** Memories that it was concluded from. */
  parentCount: number;
  createdAt: Date;
  updatedAt: Date;
  metadata: Record<string, unknown> | null;
}

/** Those of a container, the best founded first. */
export async function inferredMemories(
  database: Queryable,
  containerTag: string,
  limit: number,
): Promise<{ memories: InferredMemory[]; total: number }> {
  const rows = await database.query<InferredMemory & { total: number }>(sql`
    select m.id, m.memory, m.metadata, m.created_at as "createdAt", m.updated_at as "updatedAt",
      (select count(*) from memory_relations r where r.from_id = m.id and r.relation = 'derives') as "parentCount",
      count(*) over () as total
    from memories m
    where m.container_tag = ${containerTag} and m.is_inference and m.is_latest and not m.is_forgotten
      and m.review_status is null and not ${isOnlyFromHidden}
    order by "parentCount" desc, m.created_at desc, m.id
    limit ${limit}`);
  return { memories: rows.map(({ total: _, ...row }) => row), total: rows[0]?.total ?? 0 };
}

export interface ReviewedMemory {
  id: string;
  isInference: boolean;
  isForgotten: boolean;
  reviewStatus: 'approved' | 'declined' | null;
}

export async function lockReviewed(tx: Transaction, containerTag: string, id: string): Promise<ReviewedMemory | null> {
  const rows = await tx.query<ReviewedMemory>(sql`
    select id, is_inference as "isInference", is_forgotten as "isForgotten", review_status as "reviewStatus"
    from memories where id = ${id} and container_tag = ${containerTag} for update`);
  return rows[0] ?? null;
}

export async function writeReviewed(
  tx: Pick<Database, 'execute'>,
  memory: ReviewedMemory,
  { forgetReason, now }: { forgetReason: string | null; now: Date },
): Promise<void> {
  await tx.execute(sql`
    update memories set is_inference = ${memory.isInference}, is_forgotten = ${memory.isForgotten},
      forgotten_by = ${memory.isForgotten ? 'caller' : null}, forgotten_at = ${memory.isForgotten ? now : null},
      review_status = ${memory.reviewStatus}, forget_reason = ${forgetReason}, updated_at = ${now}
    where id = ${memory.id}`);
}
