import type { Queryable } from './database.ts';
import { sql } from './sql.ts';

export interface AnswerKey {
  connectionId: string;
  /** A hash; see http/conditional.ts. */
  key: string;
}

export interface AnswerRow {
  headers: Record<string, string>;
  body: Uint8Array;
}

const where = ({ connectionId, key }: AnswerKey) => sql`connection_id = ${connectionId} and key = ${key}`;

export async function readValidators(
  database: Queryable,
  key: AnswerKey,
): Promise<{ etag: string | null; lastModified: string | null } | null> {
  const [row] = await database.query<{ etag: string | null; lastModified: string | null }>(sql`
    select etag, last_modified as "lastModified" from http_answers where ${where(key)}`);
  return row ?? null;
}

/** The kept answer, which counts as used now; null when it was removed meanwhile. */
export async function takeAnswer(database: Queryable, key: AnswerKey, now: Date): Promise<AnswerRow | null> {
  const [row] = await database.query<AnswerRow>(sql`
    update http_answers set used_at = ${now} where ${where(key)} returning headers, body`);
  return row ?? null;
}

/** Keeps an answer in place of an older one. Does nothing for a connection that is gone. */
export async function saveAnswer(
  database: Queryable,
  key: AnswerKey,
  answer: AnswerRow & { etag: string | null; lastModified: string | null; now: Date },
): Promise<void> {
  await database.execute(sql`
    insert into http_answers (connection_id, key, etag, last_modified, headers, body, used_at)
    select id, ${key.key}, ${answer.etag}::text, ${answer.lastModified}::text, ${JSON.stringify(answer.headers)}::jsonb,
      ${answer.body}::bytea, ${answer.now}::timestamptz
    from connections where id = ${key.connectionId}
    on conflict (connection_id, key) do update set etag = excluded.etag, last_modified = excluded.last_modified,
      headers = excluded.headers, body = excluded.body, used_at = excluded.used_at`);
}

export async function removeAnswer(database: Queryable, key: AnswerKey): Promise<void> {
  await database.execute(sql`delete from http_answers where ${where(key)}`);
}

/** Removes the answers of a connection that were used longest ago, until the rest fits. */
export async function trimAnswers(
  database: Queryable,
  connectionId: string,
  keep: { maxBytes: number; maxCount: number },
): Promise<number> {
  return database.execute(sql`
    delete from http_answers where connection_id = ${connectionId} and key in (
      select key from (
        select key, sum(octet_length(body)) over newest as bytes, count(*) over newest as position
        from http_answers where connection_id = ${connectionId}
        window newest as (order by used_at desc, key)) kept
      where bytes > ${keep.maxBytes}::bigint or position > ${keep.maxCount}::bigint)`);
}
