import { createRequire } from 'node:module';
import createHyphenator, { type PatternsDefinition } from 'hyphen';
import { at, firstOf } from '../base/collections.ts';
import { normalized } from '../base/normalized.ts';
import { languagesByCode, languagesOf, type Language, stem } from './languages.ts';

/** A text's terms, as BM25 needs them. `terms[i]` stands `counts[i]` times in it. */
export interface Terms {
  /** Distinct, in the order of their UTF-8 bytes. */
  terms: string[];
  /** At most 32,767 each. */
  counts: number[];
  /** Sum of `counts`: the length of the text in terms. */
  total: number;
  /** Whose stems are among them, by ISO 639-1 code. */
  languages: string[];
}

const maxTermLength = 40;
/** PostgreSQL's smallint. */
const maxCount = 32_767;

const stopWords = new Set(
  (
    'a an and are as at be been but by can could did do does for from had has have how i if in into is it its me my ' +
    'of on or our so such that the their them then there these they this those to was we were what when where which ' +
    'will with would you your'
  ).split(' '),
);

const asciiOnly = /^[\x00-\x7f]*$/;
const asciiWord = /[A-Za-z0-9]+(?:(?:_+|['.-])[A-Za-z0-9]+)*/g;
const scripts = ['Han', 'Hiragana', 'Katakana', 'Hangul', 'Thai', 'Lao', 'Khmer', 'Myanmar'];
/** Characters of scripts that are written without spaces: their words are found by character pairs. */
const unspaced = `[${scripts.map((script) => String.raw`\p{Script=${script}}`).join('')}ー々]`;
const spaced = String.raw`[[\p{L}\p{N}\p{M}]--${unspaced}]`;
const unicodeWord = new RegExp(String.raw`${unspaced}+|${spaced}+(?:(?:_+|['’.\-])${spaced}+)*`, 'gv');
const startsUnspaced = new RegExp(`^${unspaced}`, 'v');
/** Of these scripts one character is often a word: 猫, 물. */
const wordCharacter = /[\p{Script=Han}\p{Script=Hangul}]/gv;

const letterForms: Record<string, string> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ı: 'i',
};

/**
 * The terms of a text for BM25: Unicode NFKC, lower case, English stems; identifiers whole and in
 * their parts, words with diacritics also without them, words of another language that the text is in
 * also by their stems, unspaced scripts as pairs of characters. English stop words are left out of texts that are in no
 * other language (Danish has gardens, `have`), unless nothing else is there. `around` are the languages of what it stands in, for where it does not tell its own.
 */
export function terms(text: string, around: readonly Language[] = []): Terms {
  const words = wordsOf(text);
  const languages = languagesOf(words, around);
  const counted = count(words, languages).sort(byBytes);
  const found: Terms = { terms: [], counts: [], total: 0, languages: languages.map(({ code }) => code) };
  for (const term of counted) {
    const times = Math.min(term.count, maxCount);
    found.terms.push(term.text);
    found.counts.push(times);
    found.total += times;
  }
  return found;
}

/** Terms as they are sent and stored: thousands of short texts are slow to hand over. */
export interface PackedTerms {
  /** Joined by a space, which no term has. */
  terms: string;
  termCounts: string;
  termTotal: number;
  languages: string[];
}

export function packTerms({ terms, counts, total, languages }: Terms): PackedTerms {
  return { terms: terms.join(' '), termCounts: `{${counts.join(',')}}`, termTotal: total, languages };
}

/** The languages of a text, for its parts. */
export function languagesOfText(text: string): readonly Language[] {
  return languagesOf(wordsOf(text));
}

/** A word of a query. */
export interface QueryWord {
  /** The terms that a text with the word may have for it; the first is the word's own. */
  forms: readonly string[];
  /** How often the query says it. */
  count: number;
}

/**
 * The distinct words to look for, in the order of the query, without stop words unless nothing else is there. A word
 * has its stems in all languages of the texts that are searched, by ISO 639-1 code: alone it does not tell its own.
 */
export function queryWords(query: string, searched: readonly string[] = []): QueryWord[] {
  const words = wordsOf(query);
  const told = languagesOf(words);
  const known = languagesByCode(searched);
  const languages = told.length === 0 && isEnglish(words, known) ? [] : [...new Set([...told, ...known])];
  const isStopWord = (word: string) => told.some((language) => language.stopWords.has(word.toLowerCase()));
  // One stop word may be an English word: `die hard`.
  const content = words.filter(isStopWord).length > 1 ? words.filter((word) => !isStopWord(word)) : words;
  const found = toQueryWords(content.flatMap((word) => analyze(word, told.length === 0, languages)));
  return found.length > 0 ? found : toQueryWords(words.flatMap((word) => analyze(word, false, languages)));
}

/** More of the words are English stop words than of any other language: `a me` and `on a` are Italian and French, too. */
function isEnglish(words: readonly string[], others: readonly Language[]): boolean {
  const distinct = [...new Set(words.map((word) => word.toLowerCase()))];
  const among = (known: ReadonlySet<string>) => distinct.filter((word) => known.has(word)).length;
  const inEnglish = among(stopWords);
  return inEnglish > 1 && others.every((language) => among(language.stopWords) < inEnglish);
}

function toQueryWords(words: readonly (readonly string[])[]): QueryWord[] {
  const found = new Map<string, { forms: readonly string[]; count: number }>();
  for (const forms of words) {
    const known = found.get(firstOf(forms));
    if (known) known.count += 1;
    else found.set(firstOf(forms), { forms, count: 1 });
  }
  return [...found.values()];
}

/** The distinct terms to look for, in the order of the query. */
export function queryTerms(query: string): string[] {
  return [...new Set(queryWords(query).flatMap(({ forms }) => forms))];
}

/** A term that was seen. It holds its own count, because a map from terms to counts for each text costs much more. */
interface Term {
  readonly text: string;
  readonly isAstral: boolean;
  /** Valid in the text that was counted as `countedIn`. */
  count: number;
  countedIn: number;
}

/** Memos of pure functions; emptied when full, so that they stay small whatever the texts hold. */
const knownWords = new Map<string, Map<string, readonly Term[]>>();
const knownTerms = new Map<string, Term>();
const maxKnown = 50_000;
let wordsKept = 0;
let lastCounted = 0;

/** The distinct terms of a text in the order in which they come, with counts that are valid until the next call. */
function count(words: readonly string[], languages: readonly Language[]): Term[] {
  if (wordsKept > maxKnown || knownTerms.size > maxKnown) {
    knownWords.clear();
    knownTerms.clear();
    wordsKept = 0;
  }
  lastCounted += 1;
  const termsOfWord = termsIn(languages);
  const found: Term[] = [];
  for (const word of words) addTerms(found, termsOfWord(word));
  if (found.length === 0) for (const word of words) addTerms(found, analyze(word, false, []).flat().map(toTermSeen));
  return found;
}

function addTerms(found: Term[], terms: readonly Term[]): void {
  for (const term of terms) {
    if (term.countedIn !== lastCounted) {
      term.countedIn = lastCounted;
      term.count = 0;
      found.push(term);
    }
    term.count += 1;
  }
}

function byBytes(a: Term, b: Term): number {
  if (a.isAstral || b.isAstral) return Buffer.compare(Buffer.from(a.text), Buffer.from(b.text));
  return a.text < b.text ? -1 : 1;
}

function wordsOf(text: string): string[] {
  if (asciiOnly.test(text)) return text.match(asciiWord) ?? [];
  // Soft hyphens and zero-width spaces stand inside of words.
  return normalized(text.replace(/[\u00ad\u200b]/g, ''), 'NFKC').match(unicodeWord) ?? [];
}

function termsIn(languages: readonly Language[]): (word: string) => readonly Term[] {
  const key = languages.map(({ code }) => code).join(' ');
  const known = knownWords.get(key) ?? new Map<string, readonly Term[]>();
  knownWords.set(key, known);
  const isInEnglish = languages.length === 0;
  return (word) => {
    const found = known.get(word);
    if (found !== undefined) return found;
    const made = [...analyze(word, isInEnglish, languages).flat(), ...insideOf(word, languages)].map(toTermSeen);
    if (word.length <= maxTermLength) {
      known.set(copyOf(word), made);
      wordsKept += 1;
    }
    return made;
  };
}

function toTermSeen(text: string): Term {
  const found = knownTerms.get(text);
  if (found !== undefined) return found;
  const term: Term = { text: copyOf(text), isAstral: /[\ud800-\udfff]/.test(text), count: 0, countedIn: 0 };
  knownTerms.set(term.text, term);
  return term;
}

/** A word cut out of a text by a regular expression can keep the whole text alive; its copy does not. */
function copyOf(word: string): string {
  return Buffer.from(word).toString();
}

/** The words that a word is made of, each with its forms; the whole comes first. */
function analyze(word: string, dropStopWords: boolean, languages: readonly Language[]): string[][] {
  if (startsUnspaced.test(word)) return pairs(word).map((pair) => [pair]);
  const bare = elision.exec(word)?.groups?.['bare'];
  if (bare !== undefined) return withElided(analyze(bare, dropStopWords, languages), word);
  const own = word.replace(/['’]s$/i, '');
  const plain = own.replace(/['’]/g, '');
  const parts = partsOf(own.replace(elisionInside, '-').replace(/['’]/g, ''));
  const whole = plain.toLowerCase();
  if (parts.length === 1) return dropStopWords && stopWords.has(whole) ? [] : [forms(whole, languages)];
  const found = [forms(whole, [])];
  for (const part of parts) {
    const lower = part.toLowerCase();
    const noise = /^[a-z]$/.test(lower) || (dropStopWords && stopWords.has(lower));
    if (!noise) found.push(forms(lower, languages));
  }
  return found;
}

/** Before a vowel French and Italian join small words to the next one: `l'appartement`, `qu'on`, `dell'acqua`. */
const elision =
  /^(?:[cdjlmnst]|qu|jusqu|lorsqu|presqu|puisqu|quelqu|quoiqu|un|dell|all|nell|sull|dall|quell)['’](?<bare>[aeiouyhàâäéèêëîïôöùûüœ].*)$/isu;

/** In `main-d'œuvre`. */
const elisionInside = /-(?:[cdjlmnst]|qu)['’](?=[aeiouyhàâäéèêëîïôöùûüœ])/giu;

/** The word itself, which may also have been written as one: `d'Artagnan` is `dartagnan` too. */
function withElided([first, ...others]: string[][], word: string): string[][] {
  return first === undefined ? [] : [[...first, toTerm(word.replace(/['’]/g, '').toLowerCase())], ...others];
}

/** `parseHTTPHeader` → parse, HTTP, Header; `sign-in` → sign, in; a word that is one piece → itself. */
function partsOf(word: string): string[] {
  if (/^[a-z0-9]+$/.test(word) || /^\p{Lu}+s?$/u.test(word)) return [word];
  return word
    .split(/[._-]+/)
    .flatMap((piece) => piece.split(/(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u));
}

/** Words inside of a longer one that a query may look for: `Rechnung` in `Nebenkostenabrechnung`, 猫 in 黒猫. */
function insideOf(word: string, [language]: readonly Language[]): string[] {
  if (startsUnspaced.test(word)) return word.length > 1 ? (word.match(wordCharacter) ?? []) : [];
  if (language === undefined) return [];
  const parts = partsOf(word).flatMap((part) => compoundParts(part.toLowerCase(), language.code));
  return [...new Set(parts.flatMap((part) => [toTerm(fold(part)), fold(language.stem(part))]))];
}

/** Without a language a word has one form, or two when it has diacritics. */
function forms(lower: string, languages: readonly Language[]): string[] {
  const term = toTerm(lower);
  if (asciiOnly.test(lower) && languages.length === 0) return [term];
  const stems = /^\p{L}{3,40}$/u.test(lower) ? languages.map((language) => fold(language.stem(lower))) : [];
  const found = new Set([term, toTerm(fold(lower)), ...stems]);
  found.delete('');
  return [...found];
}

function fold(lower: string): string {
  return normalized(lower, 'NFD')
    .replace(/[\u0300-\u036f]/g, '')
    .normalize('NFC')
    .replace(/[ßæœøłđðþı]/g, (letter) => letterForms[letter]!);
}

function toTerm(lower: string): string {
  if (lower.length <= maxTermLength) return /^[a-z]+$/.test(lower) ? stem(lower) : lower;
  const end = isHighSurrogate(lower, maxTermLength - 1) ? maxTermLength - 1 : maxTermLength;
  return lower.slice(0, end);
}

function pairs(run: string): string[] {
  const characters = [...run];
  if (characters.length === 1) return characters;
  return characters.slice(1).map((character, index) => at(characters, index) + character);
}

function isHighSurrogate(text: string, index: number): boolean {
  return (text.charCodeAt(index) & 0xfc00) === 0xd800;
}

/** Languages that write words together, by ISO 639-1 code, with the patterns that say where their words may be divided. */
const patternFiles: Record<string, string> = { da: 'da', de: 'de-1996', nl: 'nl', no: 'nb', sv: 'sv' };

const shortestCompound = 7;
/** A word of more letters is no word, and has too many parts. */
const longestCompound = 40;
/** Letters of what begins, stands inside or ends the word. Shorter ones are mostly no words. */
const shortest = { begin: 4, inside: 5, end: 3 };
const mostSyllablesInside = 3;

/**
 * Possible words inside of a word in lower case: runs of its syllables. Some are no words (`mietvertrag` gives `miet`,
 * `mietver` and `vertrag`), which nobody searches for; a list of words would lack some that are.
 */
export function compoundParts(word: string, language: string): string[] {
  const file = patternFiles[language];
  if (file === undefined || word.length < shortestCompound || word.length > longestCompound) return [];
  const syllables = divide(word, file);
  const parts = new Set<string>();
  for (let first = 0; first < syllables.length; first += 1) {
    for (let end = first + 1; end <= syllables.length; end += 1) {
      const part = syllables.slice(first, end).join('');
      const place = end === syllables.length ? 'end' : first === 0 ? 'begin' : 'inside';
      const isTooLong = place === 'inside' && end - first > mostSyllablesInside;
      if (part.length >= shortest[place] && !isTooLong) parts.add(part);
    }
  }
  parts.delete(word);
  return [...parts];
}

function divide(word: string, file: string): string[] {
  // The library keeps each word that one of its hyphenators has divided for good; so each is made for one word.
  const hyphenate = createHyphenator(patternsOf(file), { hyphenChar: '-', html: false });
  return (hyphenate(word) as string).split('-');
}

const known = new Map<string, PatternsDefinition>();

/** Read with the first text in a language: they take megabytes. */
function patternsOf(file: string): PatternsDefinition {
  const found = known.get(file);
  if (found !== undefined) return found;
  const [levels, patterns] = createRequire(import.meta.url)(`hyphen/patterns/${file}`) as unknown[];
  // Without the exceptions, to which the library adds each word that it meets; its types show another form.
  const read = [levels, patterns] as unknown as PatternsDefinition;
  known.set(file, read);
  return read;
}
