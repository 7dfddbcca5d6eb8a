import type { ConnectionRow } from './connections.ts';
import type { Queryable, Transaction } from './database.ts';
import { sql } from './sql.ts';

/** All fields of a connection that a caller may change. */
export type ConnectionFields = Pick<
  ConnectionRow,
  | 'status'
  | 'statusReason'
  | 'config'
  | 'metadata'
  | 'filters'
  | 'documentLimit'
  | 'onSourceDelete'
  | 'schedule'
  | 'allowedHours'
  | 'nextSyncAt'
  | 'memories'
  | 'trust'
  | 'author'
  | 'inProfile'
>;

export async function updateConnection(
  tx: Transaction,
  id: string,
  fields: ConnectionFields,
  now: Date,
): Promise<void> {
  await tx.execute(sql`
    update connections set status = ${fields.status}, status_reason = ${fields.statusReason},
      config = ${JSON.stringify(fields.config)}::jsonb, metadata = ${JSON.stringify(fields.metadata)}::jsonb,
      filters = ${JSON.stringify(fields.filters)}::jsonb, document_limit = ${fields.documentLimit},
      on_source_delete = ${fields.onSourceDelete}, schedule = ${fields.schedule},
      allowed_hours = ${fields.allowedHours}, next_sync_at = ${fields.nextSyncAt},
      memories = ${fields.memories}, trust = ${fields.trust}, author = ${fields.author}, in_profile = ${fields.inProfile},
      updated_at = ${now}
    where id = ${id} and status <> 'deleting'`);
}

/**
 * Changes a field that the connection puts on its documents; `undefined` is no such field. A document
 * whose item has a field of that name of its own keeps it: that one wins.
 */
export async function changeDocumentField(
  tx: Transaction,
  connectionId: string,
  field: { name: string; before: unknown; after: unknown },
  now: Date,
): Promise<void> {
  const { name, before, after } = field;
  const isOurs =
    before === undefined
      ? sql`d.metadata -> ${name}::text is null`
      : sql`d.metadata -> ${name}::text = ${JSON.stringify(before)}::jsonb`;
  const changed =
    after === undefined
      ? sql`d.metadata - ${name}::text`
      : sql`d.metadata || jsonb_build_object(${name}::text, ${JSON.stringify(after)}::jsonb)`;
  await tx.execute(sql`
    update documents d set metadata = ${changed}, updated_at = ${now}
    where d.connection_id = ${connectionId} and ${isOurs}`);
}

/** Begins the removal of a connection, or says that it goes on. */
export async function markDeleting(database: Queryable, id: string, now: Date): Promise<void> {
  await database.execute(sql`
    update connections set status = 'deleting', status_reason = null, updated_at = ${now} where id = ${id}`);
}

/** Connections whose removal has begun and has not gone on since a time. */
export async function stalledRemovals(database: Queryable, before: Date): Promise<string[]> {
  const rows = await database.query<{ id: string }>(sql`
    select id from connections where status = 'deleting' and updated_at < ${before}`);
  return rows.map((row) => row.id);
}
