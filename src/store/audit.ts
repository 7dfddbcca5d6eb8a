import type { Queryable } from './database.ts';
import { rowSet } from './row-set.ts';
import { joinSql, rawSql, sql } from './sql.ts';

export interface AuditEvent {
  id: string;
  at: Date;
  action: string;
  outcome: 'done' | 'denied' | 'failed';
  /** Of the HTTP answer. */
  status: number;
  keyId: string | null;
  keyName: string | null;
  address: string | null;
  target: string | null;
  count: number;
}

export async function insertAuditEvents(database: Queryable, events: readonly AuditEvent[]): Promise<void> {
  if (events.length === 0) return;
  const set = rowSet(
    'r',
    {
      id: 'text',
      at: 'timestamptz',
      action: 'text',
      outcome: 'text',
      status: 'integer',
      key_id: 'text',
      key_name: 'text',
      address: 'text',
      target: 'text',
      count: 'integer',
    },
    events.map(({ keyId, keyName, ...event }) => ({ ...event, key_id: keyId, key_name: keyName })),
  );
  await database.execute(sql`insert into audit_events (${set.names}) select ${set.select} from ${set.from}`);
}

export interface AuditQuery {
  action?: string | undefined;
  outcome?: AuditEvent['outcome'] | undefined;
  /** Only events with a smaller id: those that came before. */
  before?: string | undefined;
  limit: number;
}

/** Newest first. */
export function listAuditEvents(database: Queryable, query: AuditQuery): Promise<AuditEvent[]> {
  const conditions = [
    ...(query.action === undefined ? [] : [sql`action = ${query.action}`]),
    ...(query.outcome === undefined ? [] : [sql`outcome = ${query.outcome}`]),
    ...(query.before === undefined ? [] : [sql`id < ${query.before}`]),
  ];
  return database.query<AuditEvent>(sql`
    select id, at, action, outcome, status, key_id as "keyId", key_name as "keyName", address, target, count
    from audit_events where ${conditions.length === 0 ? rawSql('true') : joinSql(conditions, ' and ')}
    order by id desc limit ${query.limit}`);
}

export function deleteOldAuditEvents(database: Queryable, before: Date): Promise<number> {
  return database.execute(sql`delete from audit_events where at < ${before}`);
}
