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
import { stemGerman } from './stem.ts';

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
