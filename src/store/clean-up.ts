import type { Queryable } from './database.ts';
import { sql } from './sql.ts';

export interface RunRetention {
  /** Runs that began later are kept… */
  startedAfter: Date;
  /** …and so many of each connection, whatever their age… */
  atLeast: number;
  /** …but never more than so many. */
  atMost: number;
}

/** Deletes runs that are over and that nobody needs any more. */
export async function deleteOldRuns(
  database: Queryable,
  { startedAfter, atLeast, atMost }: RunRetention,
): Promise<number> {
  return database.execute(sql`
    with placed as (
      select id, started_at, row_number() over (partition by connection_id order by id desc) as place
      from sync_runs where status <> 'running')
    delete from sync_runs r using placed p
    where r.id = p.id and (p.place > ${atMost} or (p.place > ${atLeast} and p.started_at < ${startedAfter}))`);
}

/** Forgets requests of sources and pushes that are too old to come again. */
export async function deleteOldDeliveries(database: Queryable, receivedBefore: Date): Promise<number> {
  const hooks = await database.execute(sql`delete from hook_deliveries where received_at < ${receivedBefore}`);
  return hooks + (await database.execute(sql`delete from push_deliveries where received_at < ${receivedBefore}`));
}

/** Forgets snapshots that nobody went on with. Nothing is removed for them. */
export async function deleteOldSnapshots(database: Queryable, updatedBefore: Date): Promise<number> {
  return database.execute(sql`delete from push_snapshots where updated_at < ${updatedBefore}`);
}

/** Forgets changes of texts that every process has followed by now, or reads anew. */
export async function deleteOldTextChanges(database: Queryable, notedBefore: Date): Promise<number> {
  return database.execute(sql`delete from text_changes where noted_at < ${notedBefore}`);
}
