import type { Queryable } from './database.ts';
import { rawSql, sql } from './sql.ts';

export interface ProcessRow {
  id: string;
  role: 'all' | 'api' | 'worker' | 'scheduler';
  version: string;
  host: string;
  pid: number;
  startedAt: Date;
  /** When it last said that it runs. */
  seenAt: Date;
}

/** Writes down that a process runs. */
export async function noteProcess(database: Queryable, row: ProcessRow): Promise<void> {
  await database.execute(sql`
    insert into processes (id, role, version, host, pid, started_at, seen_at)
    values (${row.id}, ${row.role}, ${row.version}, ${row.host}, ${row.pid}, ${row.startedAt}, ${row.seenAt})
    on conflict (id) do update set seen_at = excluded.seen_at`);
}

/** The oldest first. */
export async function listProcesses(database: Queryable): Promise<ProcessRow[]> {
  return database.query<ProcessRow>(
    rawSql(`select id, role, version, host, pid, started_at as "startedAt", seen_at as "seenAt" from processes
    order by started_at, id`),
  );
}

export async function deleteProcess(database: Queryable, id: string): Promise<void> {
  await database.execute(sql`delete from processes where id = ${id}`);
}

/** Forgets those that ended long ago without saying so. */
export async function deleteOldProcesses(database: Queryable, seenBefore: Date): Promise<number> {
  return database.execute(sql`delete from processes where seen_at < ${seenBefore}`);
}
