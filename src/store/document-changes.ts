import type { Transaction } from './database.ts';
import { storedColumns, type StoredDocument } from './documents.ts';
import { settleChains } from './memory-versions.ts';
import { sql } from './sql.ts';
import { moveLanguages } from './text-languages.ts';

/** A document that is about to be changed, locked. */
export interface ChangingDocument extends Omit<StoredDocument, 'customId'> {
  customId: string | null;
  containerTags: string[] | null;
}

export async function lockDocument(tx: Transaction, id: string): Promise<ChangingDocument | null> {
  const rows = await tx.query<ChangingDocument>(sql`
    select ${storedColumns}, d.container_tags as "containerTags" from documents d
    where d.id = ${id} and d.deleted_at is null for update`);
  return rows[0] ?? null;
}

/** Writes every field. `isRequeued` starts processing again and takes the document from the worker that has it. */
export async function writeChangedDocument(
  tx: Transaction,
  row: ChangingDocument,
  { isRequeued, now }: { isRequeued: boolean; now: Date },
): Promise<void> {
  await tx.execute(sql`
    update documents d set
      container_tag = ${row.containerTag}, container_tags = ${row.containerTags}::text[],
      custom_id = ${row.customId}, type = ${row.type}, source = ${row.source}, given_title = ${row.givenTitle},
      title = ${row.title}, url = ${row.url}, filepath = ${row.filepath},
      metadata = ${JSON.stringify(row.metadata)}::jsonb, task_type = ${row.taskType}, dreaming = ${row.dreaming},
      document_date = ${row.documentDate}::timestamptz,
      filter_by_metadata = ${row.filterByMetadata === null ? null : JSON.stringify(row.filterByMetadata)}::jsonb,
      supporting_context = ${row.supportingContext},
      author = ${row.author}, trust = ${row.trust}, added_by = ${row.addedBy},
      content_hash = ${row.contentHash}, updated_at = ${now}
    where d.id = ${row.id}`);
  if (isRequeued) await requeue(tx, row.id, now);
}

async function requeue(tx: Transaction, id: string, now: Date): Promise<void> {
  await tx.execute(sql`
    update documents set revision = revision + 1, status = 'queued', lease_token = null, attempts = 0, lost_workers = 0,
      redrives = 0, next_attempt_at = ${now}, updated_at = ${now}, error_code = null, error_message = null
    where id = ${id}`);
}

/**
 * Starts the processing of a document again, and takes over none of its chunks as they are, though they are found until
 * the new ones are written.
 */
export async function requeueWhole(tx: Transaction, id: string, now: Date): Promise<void> {
  await requeue(tx, id, now);
  // No text has such a hash.
  await tx.execute(sql`update chunks set content_hash = id where document_id = ${id}`);
}

/**
 * Moves what hangs on a document to its new container. Memories that other documents stand for stay
 * where they are, without this one.
 */
export async function moveParts(
  tx: Transaction,
  documentId: string,
  { from, to: containerTag }: { from: string; to: string },
  now: Date,
): Promise<void> {
  await moveLanguages(tx, from, containerTag);
  await tx.execute(sql`update chunks set container_tag = ${containerTag} where document_id = ${documentId}`);
  await tx.execute(sql`
    delete from memory_sources s where s.document_id = ${documentId}
      and exists (select 1 from memory_sources o where o.memory_id = s.memory_id and o.document_id <> ${documentId})`);
  const moved = await tx.query<{ root: string }>(sql`
    with moved as (
      update memories set container_tag = ${containerTag}
      where id in (select memory_id from memory_sources where document_id = ${documentId})
      returning coalesce(root_memory_id, id) as root
    )
    select distinct root from moved`);
  await settleChains(
    tx,
    moved.map(({ root }) => root),
    now,
  );
}

/** Forgets the memories that no other document stands for. */
export async function forgetMemoriesOnlyFrom(
  tx: Transaction,
  documentId: string,
  { reason, now }: { reason: string; now: Date },
): Promise<void> {
  const forgotten = await tx.query<{ root: string }>(sql`
    update memories m set is_forgotten = true, forgotten_by = 'source', forgotten_at = ${now}, forget_reason = ${reason},
      updated_at = ${now}
    where not is_forgotten
      and exists (select 1 from memory_sources s where s.memory_id = m.id and s.document_id = ${documentId})
      and not exists (select 1 from memory_sources s where s.memory_id = m.id and s.document_id <> ${documentId})
    returning coalesce(m.root_memory_id, m.id) as root`);
  await settleChains(
    tx,
    forgotten.map(({ root }) => root),
    now,
  );
}

/** Keeps what a caller sent as containerTags, by document. */
export async function writeContainerTags(
  tx: Transaction,
  documents: readonly { id: string; containerTags: readonly string[] }[],
): Promise<void> {
  for (const { id, containerTags } of documents) {
    await tx.execute(sql`
      update documents set container_tags = ${containerTags}::text[]
      where id = ${id} and container_tags is distinct from ${containerTags}::text[]`);
  }
}
