import { lastOf } from '../base/collections.ts';
import { queryTerms } from '../engine/terms.ts';
import type { Keyword } from '../store/search/search-plan.ts';

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
