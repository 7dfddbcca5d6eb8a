import { stem } from './stem.ts';

/** What BM25 needs to know of a text. `terms[i]` stands `counts[i]` times in it. */
export interface Terms {
  /** Distinct, in the order of their UTF-8 bytes. */
  terms: string[];
  /** At most 32,767 each. */
  counts: number[];
  /** Sum of `counts`: the length of the text in terms. */
  total: number;
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
 * their parts, words with diacritics also without them, unspaced scripts as pairs of characters.
 * English stop words are left out unless nothing else is there.
 */
export function terms(text: string): Terms {
  const counted = count(text);
  const sorted = [...counted.keys()].sort();
  if (!asciiOnly.test(text) && sorted.some(isAstral))
    sorted.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  const counts = sorted.map((term) => Math.min(counted.get(term)!, maxCount));
  return { terms: sorted, counts, total: counts.reduce((sum, value) => sum + value, 0) };
}

/** The distinct terms to look for, in the order of the query. */
export function queryTerms(query: string): string[] {
  return [...count(query).keys()];
}

function count(text: string): Map<string, number> {
  const words = wordsOf(text);
  const counted = new Map<string, number>();
  for (const word of words) for (const term of termsOfWord(word)) counted.set(term, (counted.get(term) ?? 0) + 1);
  if (counted.size > 0) return counted;
  for (const word of words) for (const term of analyze(word, false)) counted.set(term, (counted.get(term) ?? 0) + 1);
  return counted;
}

function wordsOf(text: string): string[] {
  if (asciiOnly.test(text)) return text.match(asciiWord) ?? [];
  // Soft hyphens and zero-width spaces stand inside of words.
  return (
    text
      .replace(/[\u00ad\u200b]/g, '')
      .normalize('NFKC')
      .match(unicodeWord) ?? []
  );
}

/** A memo of a pure function; emptied when full, so that it stays small whatever the texts hold. */
const known = new Map<string, readonly string[]>();
const maxKnown = 50_000;

function termsOfWord(word: string): readonly string[] {
  const found = known.get(word);
  if (found !== undefined) return found;
  const made = analyze(word, true);
  if (word.length > maxTermLength) return made;
  if (known.size >= maxKnown) known.clear();
  // A word cut out of a text by a regular expression can keep the whole text alive; this copy does not.
  known.set(Buffer.from(word).toString(), made);
  return made;
}

function analyze(word: string, dropStopWords: boolean): string[] {
  if (startsUnspaced.test(word)) return pairs(word);
  const plain = word.replace(/['’]s$/i, '').replace(/['’]/g, '');
  const parts = partsOf(plain);
  const whole = plain.toLowerCase();
  if (parts.length === 1) return dropStopWords && stopWords.has(whole) ? [] : forms(whole);
  const found = forms(whole);
  for (const part of parts) {
    const lower = part.toLowerCase();
    const noise = /^[a-z]$/.test(lower) || (dropStopWords && stopWords.has(lower));
    if (!noise) found.push(...forms(lower));
  }
  return found;
}

/** `parseHTTPHeader` → parse, HTTP, Header; `sign-in` → sign, in; a word that is one piece → itself. */
function partsOf(word: string): string[] {
  if (/^[a-z0-9]+$/.test(word) || /^\p{Lu}+s?$/u.test(word)) return [word];
  return word
    .split(/[._-]+/)
    .flatMap((piece) => piece.split(/(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u));
}

function forms(lower: string): string[] {
  const term = toTerm(lower);
  if (asciiOnly.test(lower)) return [term];
  const folded = toTerm(fold(lower));
  return folded === term || folded === '' ? [term] : [term, folded];
}

function fold(lower: string): string {
  return lower
    .normalize('NFD')
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
  return characters.slice(1).map((character, index) => characters[index]! + character);
}

function isHighSurrogate(text: string, index: number): boolean {
  return (text.charCodeAt(index) & 0xfc00) === 0xd800;
}

function isAstral(term: string): boolean {
  return /[\ud800-\udfff]/.test(term);
}
