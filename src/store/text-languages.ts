import type { Queryable, Transaction } from './database.ts';
import { rowSet, sql } from './sql.ts';

/** A text as it is written, with the languages whose stems it is indexed with, by ISO 639-1 code. */
interface LanguageText {
  containerTag: string;
  languages: readonly string[];
}

/**
 * Notes in which languages a container has texts; they stay noted when the texts go. Two transactions may note the same
 * one twice, so that neither waits for the other.
 */
export async function noteLanguages(tx: Transaction, texts: readonly LanguageText[]): Promise<void> {
  const found = new Map<string, { containerTag: string; language: string }>();
  for (const { containerTag, languages } of texts)
    for (const language of languages) found.set(`${language} ${containerTag}`, { containerTag, language });
  if (found.size === 0) return;
  const set = rowSet('r', { containerTag: 'text', language: 'text' }, [...found.values()]);
  await tx.execute(sql`
    insert into text_languages (${set.names}) select ${set.select} from ${set.from}
    where not exists (select from text_languages k where k.language = r.language and k.container_tag = r.container_tag)`);
}

/** Texts of a container have moved to another one. */
export async function moveLanguages(tx: Transaction, from: string, to: string): Promise<void> {
  await tx.execute(sql`
    insert into text_languages (container_tag, language)
    select distinct ${to}, language from text_languages where container_tag = ${from}
    except select container_tag, language from text_languages where container_tag = ${to}`);
}

export async function clearLanguages(tx: Transaction, containerTag: string): Promise<void> {
  await tx.execute(sql`delete from text_languages where container_tag = ${containerTag}`);
}

/** Of all containers where none are named. */
export async function readLanguages(
  database: Queryable,
  containerTags: readonly string[] | null,
  among: readonly string[],
): Promise<string[]> {
  const inScope = containerTags === null ? sql`true` : sql`k.container_tag = any(${containerTags}::text[])`;
  const rows = await database.query<{ language: string }>(sql`
    select language from unnest(${among}::text[]) as l (language)
    where exists (select from text_languages k where k.language = l.language and ${inScope})`);
  return rows.map(({ language }) => language);
}
