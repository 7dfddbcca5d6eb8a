import type { Queryable } from './database.ts';
import { sql } from './sql.ts';

export interface KeptAnswer {
  status: number;
  contentType: string;
  text: string;
}

export interface KnownRequest {
  bodyHash: string | null;
  /** Null while it is worked on; `erased`: it was given and is gone. */
  answer: KeptAnswer | 'erased' | null;
}

export interface AnswerClaim {
  name: string;
  bodyHash: string | null;
  /** Names this request. */
  holder: string;
  heldUntil: Date;
  expiresAt: Date;
  now: Date;
}

/** Whether this request is the first one of its name, or the one before it has expired or was given up. */
export async function claimAnswer(database: Queryable, claim: AnswerClaim): Promise<boolean> {
  const claimed = await database.execute(sql`
    insert into kept_answers (name, body_hash, holder, held_until, expires_at)
    values (${claim.name}, ${claim.bodyHash}, ${claim.holder}, ${claim.heldUntil}, ${claim.expiresAt})
    on conflict (name) do update set body_hash = excluded.body_hash, holder = excluded.holder,
      held_until = excluded.held_until, expires_at = excluded.expires_at, status = null, content_type = null, body = null
    where kept_answers.expires_at <= ${claim.now}
      or (kept_answers.status is null and kept_answers.held_until <= ${claim.now})`);
  return claimed > 0;
}

/** Null when it was given up meanwhile. */
export async function knownRequest(database: Queryable, name: string): Promise<KnownRequest | null> {
  const [row] = await database.query<{
    body_hash: string | null;
    status: number | null;
    content_type: string | null;
    body: string | null;
  }>(sql`select body_hash, status, content_type, body from kept_answers where name = ${name}`);
  if (!row) return null;
  const { status, content_type: contentType, body: text } = row;
  if (status === null) return { bodyHash: row.body_hash, answer: null };
  return { bodyHash: row.body_hash, answer: text === null ? 'erased' : { status, contentType: contentType!, text } };
}

export async function keepAnswer(
  database: Queryable,
  { name, holder }: Pick<AnswerClaim, 'name' | 'holder'>,
  { status, contentType, text }: KeptAnswer,
): Promise<void> {
  await database.execute(sql`
    update kept_answers set status = ${status}, content_type = ${contentType}, body = ${text}
    where name = ${name} and holder = ${holder}`);
}

/** The request came to nothing; the next one is the first again. */
export async function giveUpAnswer(
  database: Queryable,
  { name, holder }: Pick<AnswerClaim, 'name' | 'holder'>,
): Promise<void> {
  await database.execute(sql`
    delete from kept_answers where name = ${name} and holder = ${holder} and status is null`);
}

export async function deleteExpiredAnswers(database: Queryable, now: Date): Promise<number> {
  return database.execute(sql`delete from kept_answers where expires_at <= ${now}`);
}
