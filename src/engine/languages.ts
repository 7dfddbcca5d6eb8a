import { stemmer as danish } from '@orama/stemmers/danish';
import { stemmer as dutch } from '@orama/stemmers/dutch';
import { stemmer as finnish } from '@orama/stemmers/finnish';
import { stemmer as french } from '@orama/stemmers/french';
import { stemmer as hungarian } from '@orama/stemmers/hungarian';
import { stemmer as italian } from '@orama/stemmers/italian';
import { stemmer as norwegian } from '@orama/stemmers/norwegian';
import { stemmer as portuguese } from '@orama/stemmers/portuguese';
import { stemmer as romanian } from '@orama/stemmers/romanian';
import { stemmer as russian } from '@orama/stemmers/russian';
import { stemmer as spanish } from '@orama/stemmers/spanish';
import { stemmer as swedish } from '@orama/stemmers/swedish';
import { stemmer as turkish } from '@orama/stemmers/turkish';
import { stopwords as danishWords } from '@orama/stopwords/danish';
import { stopwords as dutchWords } from '@orama/stopwords/dutch';
import { stopwords as englishWords } from '@orama/stopwords/english';
import { stopwords as finnishWords } from '@orama/stopwords/finnish';
import { stopwords as frenchWords } from '@orama/stopwords/french';
import { stopwords as germanWords } from '@orama/stopwords/german';
import { stopwords as hungarianWords } from '@orama/stopwords/hungarian';
import { stopwords as italianWords } from '@orama/stopwords/italian';
import { stopwords as norwegianWords } from '@orama/stopwords/norwegian';
import { stopwords as portugueseWords } from '@orama/stopwords/portuguese';
import { stopwords as romanianWords } from '@orama/stopwords/romanian';
import { stopwords as russianWords } from '@orama/stopwords/russian';
import { stopwords as spanishWords } from '@orama/stopwords/spanish';
import { stopwords as swedishWords } from '@orama/stopwords/swedish';
import { stopwords as turkishWords } from '@orama/stopwords/turkish';
import { at } from '../base/collections.ts';

/** A language other than English whose words are stemmed. */
export interface Language {
  /** ISO 639-1. */
  code: string;
  /** Of a word in lower case. */
  stem: (word: string) => string;
  stopWords: ReadonlySet<string>;
}

const languages: readonly Language[] = [
  language('da', danish, danishWords),
  language('nl', dutch, dutchWords),
  language('fi', finnish, finnishWords),
  language('fr', french, frenchWords),
  language('de', stemGerman, germanWords),
  language('hu', hungarian, hungarianWords),
  language('it', italian, italianWords),
  language('no', norwegian, norwegianWords),
  language('pt', portuguese, portugueseWords),
  language('ro', romanian, romanianWords),
  language('ru', russian, russianWords),
  language('es', spanish, spanishWords),
  language('sv', swedish, swedishWords),
  language('tr', turkish, turkishWords),
];
const english = new Set(englishWords);

/** ISO 639-1, of all that are stemmed. */
export const languageCodes = languages.map(({ code }) => code);

export function languagesByCode(codes: readonly string[]): readonly Language[] {
  return languages.filter(({ code }) => codes.includes(code));
}

/** By each stop word, the places in `languages` that it belongs to. */
const byStopWord = new Map<string, number[]>();
for (const [place, { stopWords }] of languages.entries())
  for (const word of stopWords) if (word.length > 1) byStopWord.set(word, [...(byStopWord.get(word) ?? []), place]);

/** Letters that tell a language where no stop word does. */
const telling: readonly (readonly [letters: RegExp, codes: readonly string[]])[] = [
  [/[\u0400-\u04ff]/, ['ru']],
  [/[ßü]/, ['de']],
  [/[äö]/, ['de', 'sv', 'fi']],
  [/[àâçèêëîïôùûœé]/, ['fr', 'pt', 'it']],
  [/[ñáíóú]/, ['es', 'pt']],
  [/[ãõ]/, ['pt']],
  [/[åæø]/, ['sv', 'da', 'no']],
  [/[őű]/, ['hu']],
  [/[ğşı]/, ['tr']],
  [/[ăâțșţ]/, ['ro']],
];

/** Enough to know a language by. */
const sampled = 400;
/** Of the words of a text in its language; in prose it is about a half. */
const leastShare = 0.1;
/** Of some words in a row, no other language has so many that are English stop words. */
const englishShare = 0.3;
/** A language with nearly as many stop words as the first may be the one: Danish and Norwegian. */
const nearly = 0.8;
const mostLanguages = 3;

function language(code: string, stem: (word: string) => string, stopWords: readonly string[]): Language {
  return { code, stem, stopWords: new Set(stopWords) };
}

/**
 * The languages that a text or a query may be in, likeliest first; none for English, for languages that are not
 * known, and where nothing tells. By the stop words among the first words (Grefenstette, "Comparing two language
 * identification schemes", 1995), else those of what it stands in, else by letters.
 */
export function languagesOf(words: readonly string[], around: readonly Language[] = []): readonly Language[] {
  const sample = words.slice(0, sampled).map((word) => word.toLowerCase());
  const inEnglish = sample.filter((word) => english.has(word)).length;
  if (sample.length >= 20 && inEnglish > englishShare * sample.length) return [];
  const found = languages.map((language) => ({ language, count: 0, kinds: new Set<string>() }));
  for (const word of sample) {
    for (const place of byStopWord.get(word) ?? []) {
      const one = at(found, place);
      one.count += 1;
      one.kinds.add(word);
    }
  }
  const least = Math.min(3, Math.ceil(sample.length / 10));
  const likely = found.filter(({ kinds }) => kinds.size >= least);
  const most = Math.max(0, ...likely.map(({ count }) => count));
  if (most > inEnglish && most >= leastShare * sample.length) {
    return likely
      .filter(({ count }) => count >= nearly * most)
      .sort((a, b) => b.count - a.count)
      .slice(0, mostLanguages)
      .map(({ language }) => language);
  }
  if (inEnglish > 0) return [];
  return around.length > 0 ? around : byLetters(sample);
}

function byLetters(words: readonly string[]): Language[] {
  const text = words.join(' ');
  const codes = telling.find(([letters]) => letters.test(text))?.[1] ?? [];
  return codes.flatMap((code) => languages.filter((one) => one.code === code));
}

/**
 * The English Porter2 stemmer, as defined at https://snowballstem.org/algorithms/english/stemmer.html.
 * It gives the same stems as the `english_stem` dictionary of PostgreSQL 18, but for `ownMeaning`.
 */

const exceptions = new Map([
  ['skis', 'ski'],
  ['skies', 'sky'],
  ['dying', 'die'],
  ['lying', 'lie'],
  ['tying', 'tie'],
  ['idly', 'idl'],
  ['gently', 'gentl'],
  ['ugly', 'ugli'],
  ['early', 'earli'],
  ['only', 'onli'],
  ['singly', 'singl'],
  ['importance', 'important'],
  ['importantly', 'important'],
]);

const invariant = new Set(['sky', 'news', 'howe', 'atlas', 'cosmos', 'bias', 'andes']);

const invariantAfterPlural = new Set([
  'inning',
  'outing',
  'canning',
  'herring',
  'earring',
  'proceed',
  'exceed',
  'succeed',
]);

/** Of these, what is left is the stem of something else: application, import, account, depart, apart, information, occupation. */
const ownMeaning = new Set('applicant important accountant department apartment informant occupant'.split(' '));

// Longest first: only the longest suffix that fits is looked at.
const secondStep: readonly (readonly [suffix: string, replacement: string])[] = [
  ['ational', 'ate'],
  ['fulness', 'ful'],
  ['iveness', 'ive'],
  ['ization', 'ize'],
  ['ousness', 'ous'],
  ['biliti', 'ble'],
  ['lessli', 'less'],
  ['tional', 'tion'],
  ['alism', 'al'],
  ['aliti', 'al'],
  ['ation', 'ate'],
  ['entli', 'ent'],
  ['fulli', 'ful'],
  ['iviti', 'ive'],
  ['ousli', 'ous'],
  ['abli', 'able'],
  ['alli', 'al'],
  ['anci', 'ance'],
  ['ator', 'ate'],
  ['enci', 'ence'],
  ['izer', 'ize'],
  ['bli', 'ble'],
  ['ogi', 'og'],
  ['li', ''],
];

const thirdStep: readonly (readonly [suffix: string, replacement: string])[] = [
  ['ational', 'ate'],
  ['tional', 'tion'],
  ['alize', 'al'],
  ['ative', ''],
  ['icate', 'ic'],
  ['iciti', 'ic'],
  ['ical', 'ic'],
  ['ness', ''],
  ['ful', ''],
];

const fourthStep = [
  'ement',
  'able',
  'ance',
  'ence',
  'ible',
  'ment',
  'ant',
  'ate',
  'ent',
  'ion',
  'ism',
  'iti',
  'ive',
  'ize',
  'ous',
  'al',
  'er',
  'ic',
];

const vowel = /[aeiouy]/;

/** Up to and including the first non-vowel after a vowel. */
const region = /[aeiouy][^aeiouy]/g;

const specialRegion = /^(?:gener|commun|arsen)/;

const shortSyllable = /(?:[^aeiouy][aeiouy][^aeiouywxY]|^[aeiouy][^aeiouy])$/;

const doubled = /(?:bb|dd|ff|gg|mm|nn|pp|rr|tt)$/;

/** The stem of an English word given in lower-case ASCII letters. */
export function stem(word: string): string {
  if (word.length < 3 || invariant.has(word)) return word;
  const exception = exceptions.get(word);
  if (exception !== undefined) return exception;
  // A `y` that acts as a consonant is written `Y` while the steps run.
  let marked = word.includes('y') ? word.replace(/^y|(?<=[aeiouy])y/g, 'Y') : word;
  const first = regionStart(marked, specialRegion.exec(marked)?.[0].length);
  const second = regionStart(marked, undefined, first);
  marked = removePlural(marked);
  if (invariantAfterPlural.has(marked) || ownMeaning.has(marked)) return marked;
  marked = removePastAndGerund(marked, first);
  if (/[^aeiouy][yY]$/.test(marked) && marked.length > 2) marked = `${marked.slice(0, -1)}i`;
  marked = replaceSuffix(marked, first);
  marked = replaceSecondSuffix(marked, first, second);
  marked = removeSuffix(marked, second);
  return removeFinal(marked, first, second).toLowerCase();
}

function regionStart(word: string, known?: number, from = 0): number {
  if (known !== undefined) return known;
  region.lastIndex = from;
  return region.test(word) ? region.lastIndex : word.length;
}

function removePlural(word: string): string {
  if (word.endsWith('sses')) return word.slice(0, -2);
  if (word.endsWith('ied') || word.endsWith('ies')) return word.slice(0, word.length > 4 ? -2 : -1);
  if (!word.endsWith('s') || word.endsWith('us') || word.endsWith('ss')) return word;
  return vowel.test(word.slice(0, -2)) ? word.slice(0, -1) : word;
}

function removePastAndGerund(word: string, first: number): string {
  const [suffix] = /(?:eedly|ingly|edly|eed|ing|ed)$/.exec(word) ?? [];
  if (suffix === undefined) return word;
  const root = word.slice(0, -suffix.length);
  if (suffix.startsWith('ee')) return root.length >= first ? `${root}ee` : word;
  if (!vowel.test(root)) return word;
  if (/(?:at|bl|iz)$/.test(root)) return `${root}e`;
  if (doubled.test(root)) return /^[aeo]..$/.test(root) ? root : root.slice(0, -1);
  return root.length === first && shortSyllable.test(root) ? `${root}e` : root;
}

function replaceSuffix(word: string, first: number): string {
  const found = secondStep.find(([suffix]) => word.endsWith(suffix));
  if (found === undefined) return word;
  const [suffix, replacement] = found;
  const root = word.slice(0, -suffix.length);
  if (root.length < first) return word;
  if (suffix === 'ogi' && !root.endsWith('l')) return word;
  if (suffix === 'li' && !/[cdeghkmnrt]$/.test(root)) return word;
  return root + replacement;
}

function replaceSecondSuffix(word: string, first: number, second: number): string {
  const found = thirdStep.find(([suffix]) => word.endsWith(suffix));
  if (found === undefined) return word;
  const [suffix, replacement] = found;
  const root = word.slice(0, -suffix.length);
  return root.length < (suffix === 'ative' ? Math.max(first, second) : first) ? word : root + replacement;
}

function removeSuffix(word: string, second: number): string {
  const suffix = fourthStep.find((candidate) => word.endsWith(candidate));
  if (suffix === undefined) return word;
  const root = word.slice(0, -suffix.length);
  return root.length < second || (suffix === 'ion' && !/[st]$/.test(root)) ? word : root;
}

function removeFinal(word: string, first: number, second: number): string {
  const root = word.slice(0, -1);
  if (word.endsWith('e')) {
    return root.length >= second || (root.length >= first && !shortSyllable.test(root)) ? root : word;
  }
  return word.endsWith('ll') && root.length >= second ? root : word;
}

/**
 * The stem of a German word in lower case, without umlauts, by CISTEM (Weissweiler and Fraser, "Developing a stemmer for
 * German based on a comparative analysis of publicly available stemmers", 2017). Snowball's stemmer leaves forms of a
 * verb apart (`gluckern`, `gluckert`). Women are found with men: `Fahrerin` has the stem of `Fahrer`.
 */
export function stemGerman(word: string): string {
  const plain = word.replace(feminine, '').replace(/[üöäß]/g, (letter) => plainLetters[letter]!);
  const marked = plain
    .replace(/^ge(?=.{4})/, '')
    .replaceAll('sch', '$')
    .replaceAll('ei', '%')
    .replaceAll('ie', '&')
    .replace(/(.)\1/g, '$1*');
  return withoutSuffixes(marked)
    .replace(/(.)\*/g, '$1$1')
    .replace(/[&%$]/g, (mark) => marks[mark]!);
}

const feminine = /(?<=\p{L}{2}er)in(?:nen)?$/u;

const plainLetters: Record<string, string> = { ü: 'u', ö: 'o', ä: 'a', ß: 'ss' };

/** Letters that no suffix may be cut out of. */
const marks: Record<string, string> = { '&': 'ie', '%': 'ei', $: 'sch' };

const longSuffixes = new Set(['em', 'er', 'nd']);

const shortSuffixes = new Set(['t', 'e', 's', 'n']);

function withoutSuffixes(marked: string): string {
  let end = marked.length;
  while (end > 3) {
    if (end > 5 && longSuffixes.has(marked.slice(end - 2, end))) end -= 2;
    else if (shortSuffixes.has(marked[end - 1]!)) end -= 1;
    else break;
  }
  return marked.slice(0, end);
}
