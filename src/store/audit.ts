import type { Queryable } from './database.ts';
import { rowSet, joinSql, rawSql, sql } from './sql.ts';

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

/** Rows that are stored already grow by the count of those with the same id. */
export async function storeAuditEvents(database: Queryable, events: readonly AuditEvent[]): Promise<void> {
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
  await database.execute(sql`
    insert into audit_events (${set.names}) select ${set.select} from ${set.from}
    on conflict (id) do update set count = audit_events.count + excluded.count`);
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

export interface WrongKeyCount {
  count: number;
  /** Those that most came from. */
  addresses: string[];
  addressCount: number;
}

const mostAddresses = 10;

/** A program gave a key that nobody has, or somebody at the first page of the console did. */
export async function countWrongKeys(database: Queryable, since: Date): Promise<WrongKeyCount> {
  const [row] = await database.query<WrongKeyCount>(sql`
    with given as (
      select address, sum(count) as count from audit_events
      where at > ${since} and outcome = 'denied' and action in ('key.wrong', 'console.sign-in')
      group by address)
    select coalesce(sum(count), 0)::integer as count, count(address)::integer as "addressCount",
      array(select address from given where address is not null order by count desc, address limit ${mostAddresses}) as addresses
    from given`);
  return row!;
}

export function deleteOldAuditEvents(database: Queryable, before: Date): Promise<number> {
  return database.execute(sql`delete from audit_events where at < ${before}`);
}
