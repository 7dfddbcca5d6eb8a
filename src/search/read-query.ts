import { lastOf } from '../base/collections.ts';
import { queryTerms } from '../engine/terms.ts';
import { findDates } from '../memory/rules/dates.ts';
import type { Keyword, Period } from '../store/search/search-plan.ts';

const maxKeywords = 16;
const maxPhraseLength = 200;
const minTokenLength = 3;

const quoted = /"([^"]+)"|“([^“”]+)”|«([^«»]+)»/g;
const token = /[\p{L}\p{N}_](?:[\p{L}\p{N}\p{M}_.:/#@+'’-]*[\p{L}\p{N}\p{M}_+#])?/gu;
/** Scripts without spaces between words: a neighbouring letter does not make it another word. */
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

/**
 * The pieces of a query whose exact presence shows that a text is related, whatever its vector says:
 * quoted phrases, identifiers (`ERR_CONN_4711`, `zanzibar-7`, `parseHeader`), and words that turn
 * out to be rare in the scope. `terms` are the forms of the query's terms as they are searched.
 */
export function keywordsOf(query: string, terms: readonly (readonly string[])[]): Keyword[] {
  const places = new Map(terms.flatMap((forms, index) => forms.map((form) => [form, index] as const)));
  const phrases = [...query.matchAll(quoted)].map((match) => (match[1] ?? match[2] ?? match[3])!.trim());
  const tokens = [...new Set(query.match(token) ?? [])].filter(({ length }) => length >= minTokenLength);
  const identifiers = tokens.filter(isIdentifier);
  const words = tokens.filter((each) => !isIdentifier(each)).sort((a, b) => b.length - a.length);
  return [
    ...phrases.filter(({ length }) => length > 0 && length <= maxPhraseLength).map(phraseKeyword),
    ...identifiers.map((each) => tokenKeyword(each, places, false)),
    ...words.map((each) => tokenKeyword(each, places, true)).filter((keyword) => keyword.terms.length > 0),
  ].slice(0, maxKeywords);
}

const quantity = /^\d+(?:st|nd|rd|th|am|pm|[a-z])$/i;

/** Letters with digits, an underscore, an inner dot, or capitals inside: made by people or programs as a name. */
function isIdentifier(text: string): boolean {
  if (text.length > maxPhraseLength || quantity.test(text)) return false;
  if (/\p{L}/u.test(text) && /\p{N}/u.test(text)) return true;
  return /\p{L}_|_\p{L}/u.test(text) || /\p{L}{2}\.\p{L}{2}/u.test(text) || /\p{Ll}\p{Lu}/u.test(text);
}

/** Its terms are no guard: stop words in it are searched in the text, but they are no terms. */
function phraseKeyword(phrase: string): Keyword {
  return { pattern: patternOf(phrase), terms: [], onlyIfRare: false };
}

function tokenKeyword(text: string, places: ReadonlyMap<string, number>, onlyIfRare: boolean): Keyword {
  const own = queryTerms(text);
  // A text may hold the token inside a longer one, where only its parts are terms.
  const parts = own.filter((term) => !/[._-]/.test(term));
  const guards = (parts.length > 0 ? parts : own).flatMap((term) => places.get(term) ?? []);
  return { pattern: patternOf(text), terms: [...new Set(guards)], onlyIfRare };
}

/** Whole words only, any white space between them. */
function patternOf(text: string): string {
  const words = text.split(/\s+/).map((word) => word.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
  const start = isWordEdge(text.at(0)!) ? '(?<!\\w)' : '';
  const end = isWordEdge(lastOf(text)) ? '(?!\\w)' : '';
  return `${start}${words.join('\\s+')}${end}`;
}

function isWordEdge(unit: string): boolean {
  return /[\p{L}\p{N}_]/u.test(unit) && !unspaced.test(unit);
}

/** Each costs a search. */
const maxWordings = 4;
const minTermsOfPart = 2;

const question =
  /^(?:(?:please|can you|could you|do you know|tell me|show me|find|remind me|what|when|where|which|who|whom|whose|why|how|is|are|was|were|am|does|do|did|has|have|had|can|could|should|would|will|many|much|long|often|about|of|me|the|a|an)\b[\s,]*)+/i;
const joint = /[?;]\s+|(?:,\s*)?\b(?:and|or|but|as well as)\b\s+/i;

/**
 * A query that asks for several things, what it asks without the words of a question, and its parts; the query comes
 * first. One that asks for one thing is itself alone: other wordings of it found nothing more.
 */
export function wordingsOf(query: string): string[] {
  const content = new Set(queryTerms(query));
  const isWorthIt = (part: string) => queryTerms(part).filter((term) => content.has(term)).length >= minTermsOfPart;
  const asked = statementOf(query);
  const parts = asked.split(joint).map(statementOf).filter(isWorthIt);
  const wordings = parts.length > 1 ? [query, asked, ...parts] : [query];
  const seen = new Set<string>();
  const isNew = (wording: string, index: number) => {
    const key = withoutEnd(wording).toLowerCase();
    const isKnown = key === '' || seen.has(key);
    seen.add(key);
    return index === 0 || !isKnown;
  };
  return wordings.filter(isNew).slice(0, maxWordings);
}

const withoutEnd = (text: string) => text.trim().replace(/(?<![?.!\s])[?.!\s]+$/, '');
const statementOf = (text: string) => withoutEnd(text.trim().replace(question, ''));

/** First and last month, 1 to 12; northern. */
const seasons: Record<string, readonly [number, number]> = {
  spring: [3, 5],
  summer: [6, 8],
  autumn: [9, 11],
  fall: [9, 11],
  winter: [12, 2],
};
const season =
  /\b(?:in|last|this|during) (?:the )?(?:early |late )?(spring|summer|autumn|fall|winter)(?: of)?(?: (\d{4}))?\b/i;
const monthName = /\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)/i;
const oneYear = /\b(?:\d{4}|last|next|this|ago)\b/i;

/** The periods of time that a query names, e.g. `in May`, `last week`, `on 3 June 2024` or `in spring`. English. */
export function periodsOf(query: string, now: Date): Period[] {
  const dates = findDates(query, now).map(({ words, iso, end, relative }): Period => {
    const from = startOf(iso);
    return { from, to: end, isEachYear: relative && monthName.test(words) && !oneYear.test(words) };
  });
  const named = season.exec(query);
  return named ? [...dates, seasonOf(named[1]!.toLowerCase(), named[2], now)] : dates;
}

function startOf(iso: string): Date {
  const [year, month = 1, day = 1] = iso.split('-').map(Number) as [number, number?, number?];
  return new Date(Date.UTC(year, month - 1, day));
}

function seasonOf(name: string, year: string | undefined, now: Date): Period {
  const [first, last] = seasons[name]!;
  const begins = year === undefined ? now.getUTCFullYear() : Number(year);
  const ends = last < first ? begins + 1 : begins;
  return {
    from: new Date(Date.UTC(begins, first - 1)),
    to: new Date(Date.UTC(ends, last)),
    isEachYear: year === undefined,
  };
}
