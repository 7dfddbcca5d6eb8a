import { firstOf } from '../base/collections.ts';
import type { Queryable } from './database.ts';
import { sql } from './sql.ts';

/** Null when nothing is kept under the key. */
export async function findAnswer(database: Queryable, key: string, now: Date): Promise<{ answer: unknown } | null> {
  const [row] = await database.query<{ answer: unknown }>(sql`
    update language_model_answers set used_at = ${now} where key = ${key} returning answer`);
  return row ?? null;
}

/** Nothing is kept of a document that is gone by now. */
export async function keepAnswer(
  database: Queryable,
  { key, documentId, answer }: { key: string; documentId: string; answer: unknown },
  now: Date,
): Promise<void> {
  await database.execute(sql`
    insert into language_model_answers (key, document_id, answer, used_at)
    select ${key}, id, ${JSON.stringify(answer)}::jsonb, ${now}::timestamptz from documents where id = ${documentId}
    for key share
    on conflict (key) do update set used_at = excluded.used_at`);
}

/** Forgets answers that were not used since, and those longest unused of more than `atMost`. */
export async function deleteUnusedAnswers(database: Queryable, usedBefore: Date, atMost: number): Promise<number> {
  return database.execute(sql`
    delete from language_model_answers where used_at < ${usedBefore} or key in (
      select key from language_model_answers order by used_at desc, key offset ${atMost})`);
}

export interface Reservation {
  /** Empty: of no container. */
  containerTag: string;
  tokens: number;
  /** Tokens of the day, reserved ones included, stay within it. */
  limit: number;
}

/** Takes tokens from the budget of the day (UTC). False when so many are not left: then nothing is taken. */
export async function reserveTokens(
  database: Queryable,
  { containerTag, tokens, limit }: Reservation,
  now: Date,
): Promise<boolean> {
  if (tokens > limit) return false;
  const day = dayOf(now);
  const before = sql`case when u.day = ${day}::date then u.day_tokens else 0 end`;
  const rows = await database.query(sql`
    insert into language_model_usage as u (container_tag, day, day_tokens) values (${containerTag}, ${day}::date, ${tokens})
    on conflict (container_tag) do update set day = excluded.day, day_tokens = ${before} + excluded.day_tokens
    where ${before} + excluded.day_tokens <= ${limit}
    returning 1`);
  return rows.length > 0;
}

export type CallOutcome = 'answers' | 'cached' | 'failed' | 'malformed' | 'over_budget';

export interface Settlement {
  containerTag: string;
  /** Tokens actually spent. */
  tokens: number;
  /** Tokens reserved in the budget beforehand. */
  reserved: number;
  outcome: CallOutcome;
}

/** Counts the end of a question, and gives back what was reserved and not spent. */
export async function settleTokens(
  database: Queryable,
  { containerTag, tokens, reserved, outcome }: Settlement,
  now: Date,
): Promise<void> {
  const one = (name: CallOutcome) => (outcome === name ? 1 : 0);
  const at = (name: CallOutcome) => (outcome === name ? now : null);
  await database.execute(sql`
    insert into language_model_usage as u
      (container_tag, day, day_tokens, tokens, answers, cached, failed, malformed, over_budget,
       answered_at, failed_at, over_budget_at)
    values (${containerTag}, ${dayOf(now)}::date, ${tokens}, ${tokens}, ${one('answers')}, ${one('cached')},
      ${one('failed')}, ${one('malformed')}, ${one('over_budget')},
      ${at('answers')}, ${at('failed')}, ${at('over_budget')})
    on conflict (container_tag) do update set
      day_tokens = case when u.day = excluded.day then greatest(0, u.day_tokens + excluded.tokens - ${reserved}) else u.day_tokens end,
      tokens = u.tokens + excluded.tokens,
      answers = u.answers + excluded.answers,
      cached = u.cached + excluded.cached,
      failed = u.failed + excluded.failed,
      malformed = u.malformed + excluded.malformed,
      over_budget = u.over_budget + excluded.over_budget,
      answered_at = coalesce(excluded.answered_at, u.answered_at),
      failed_at = coalesce(excluded.failed_at, u.failed_at),
      over_budget_at = coalesce(excluded.over_budget_at, u.over_budget_at)`);
}

/** Of all containers together, since the beginning; `today` and `overBudgetToday` of this day (UTC). */
export interface Usage {
  tokens: number;
  answers: number;
  cached: number;
  failed: number;
  malformed: number;
  overBudget: number;
  tokensToday: number;
  /** Containers whose budget did not suffice today. */
  containersOverBudget: number;
  answeredAt: Date | null;
  failedAt: Date | null;
}

export async function readUsage(database: Queryable, now: Date): Promise<Usage> {
  const day = dayOf(now);
  const usage = firstOf(
    await database.query<Usage>(sql`
    select coalesce(sum(tokens), 0)::float8 as tokens, coalesce(sum(answers), 0)::float8 as answers,
      coalesce(sum(cached), 0)::float8 as cached, coalesce(sum(failed), 0)::float8 as failed,
      coalesce(sum(malformed), 0)::float8 as malformed, coalesce(sum(over_budget), 0)::float8 as "overBudget",
      coalesce(sum(day_tokens) filter (where day = ${day}::date), 0)::float8 as "tokensToday",
      (count(*) filter (where over_budget_at >= ${new Date(`${day}T00:00:00Z`)}))::int as "containersOverBudget",
      max(answered_at) as "answeredAt", max(failed_at) as "failedAt"
    from language_model_usage`),
  );
  return usage;
}

function dayOf(now: Date): string {
  return now.toISOString().slice(0, 10);
}
