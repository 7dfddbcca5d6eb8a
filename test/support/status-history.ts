import { rawSql, sql } from '../../src/store/sql.ts';
import type { Database } from '../../src/store/database.ts';

/** Section 7.2, row by row. `(none)` is a document that did not exist. */
const allowed: Record<string, readonly string[]> = {
  '(none)': ['queued', 'done'],
  unknown: ['queued'],
  queued: ['extracting', 'failed'],
  extracting: ['chunking', 'queued', 'failed'],
  chunking: ['embedding', 'done', 'queued', 'failed'],
  embedding: ['indexing', 'queued', 'failed'],
  indexing: ['done', 'queued', 'failed'],
  failed: ['queued'],
  done: ['queued'],
};

/** The way of a document that nothing happens to. Stages may be passed without being written down. */
const forward = ['queued', 'extracting', 'chunking', 'embedding', 'indexing', 'done'];

export interface Move {
  document: string;
  before: string;
  after: string;
}

export function isAllowed({ before, after }: Move): boolean {
  const from = forward.indexOf(before);
  return allowed[before]?.includes(after) === true || (from !== -1 && forward.indexOf(after) > from);
}

/** From here on the database itself writes down every change of a status. */
export async function recordStatuses(database: Database): Promise<void> {
  await database.script(`
    create table status_moves (id bigint generated always as identity, document text, before text, after text);
    create function record_status() returns trigger language plpgsql as $$
    begin
      insert into status_moves (document, before, after)
      values (new.id, case when tg_op = 'INSERT' then '(none)' else old.status end, new.status);
      return null;
    end $$;
    create trigger inserted after insert on documents for each row execute function record_status();
    create trigger moved after update on documents for each row
      when (old.status is distinct from new.status) execute function record_status();`);
}

/** In the order in which they happened. */
export function recordedMoves(database: Database): Promise<Move[]> {
  return database.query<Move>(sql`select document, before, after from status_moves order by id`);
}

/** Every row's last change, by table: equal again later means that nothing was written. */
export async function lastWrites(database: Database, tables: readonly string[]): Promise<Map<string, string>> {
  const writes = new Map<string, string>();
  for (const table of tables) {
    const rows = await database.query<{ xmin: string; place: string }>(
      sql`select xmin::text, ctid::text as place from ${rawSql(table)} order by ctid`,
    );
    writes.set(table, JSON.stringify(rows));
  }
  return writes;
}
