import type { Narrowing } from './search-plan.ts';
import type { Queryable } from '../database.ts';
import { joinSql, rawSql, sql, type Sql } from '../sql.ts';
import { documentConditions, inScope, wantedDocuments } from './conditions.ts';

/** The parts of a search that can leave a document out. */
export type Narrower = 'containerTag' | 'filters' | 'filepath' | 'docId' | 'dates' | 'asOf';

/** Which parts of a search leave a document out, and whether it has anything that can be found; null when it is gone. */
export async function readStanding(
  database: Queryable,
  documentId: string,
  narrowing: Narrowing,
): Promise<{ leftOutBy: Narrower[]; hasTexts: boolean } | null> {
  const conditions = conditionsOf(narrowing);
  const failed = conditions.map(
    ([name, condition]) => sql`case when coalesce((${condition}), false) then null else ${name}::text end`,
  );
  const wanted = wantedDocuments(narrowing);
  const rows = await database.query<{ left_out_by: Narrower[]; has_texts: boolean }>(
    sql`${wanted.length > 0 ? sql`with ${joinSql(wanted, ', ')} ` : rawSql('')}
      select array_remove(array[${joinSql(failed, ', ')}], null) as left_out_by,
        exists (select 1 from chunks c where c.document_id = d.id) as has_texts
      from documents d where d.id = ${documentId}`,
  );
  return rows[0] ? { leftOutBy: rows[0].left_out_by, hasTexts: rows[0].has_texts } : null;
}

/** Each by itself, on a document `d`. */
function conditionsOf(narrowing: Narrowing): [Narrower, Sql][] {
  const { containerTags, namedTags, filters, filepath, docId, dates, asOf } = narrowing;
  const named = documentConditions({ containerTags: null, namedTags });
  return [
    ['containerTag', sql`${inScope('d', containerTags)} and ${named}`],
    ...(filters ? [['filters', documentConditions({ containerTags: null, filters })] as [Narrower, Sql]] : []),
    ...(filepath === undefined
      ? []
      : [['filepath', documentConditions({ containerTags: null, filepath })] as [Narrower, Sql]]),
    ...(docId === undefined ? [] : [['docId', documentConditions({ containerTags, docId })] as [Narrower, Sql]]),
    ...(dates ? [['dates', documentConditions({ containerTags: null, dates })] as [Narrower, Sql]] : []),
    ...(asOf === undefined ? [] : [['asOf', sql`d.created_at <= ${asOf}::timestamptz`] as [Narrower, Sql]]),
  ];
}

/** Which of these memories came from a document, among others. */
export async function memoriesOfDocument(
  database: Queryable,
  documentId: string,
  memoryIds: readonly string[],
): Promise<string[]> {
  if (memoryIds.length === 0) return [];
  const rows = await database.query<{ memory_id: string }>(
    sql`select memory_id from memory_sources where document_id = ${documentId} and memory_id = any(${memoryIds}::text[])`,
  );
  return rows.map((row) => row.memory_id);
}
