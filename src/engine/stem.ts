/**
 * The English Porter2 stemmer, as defined at https://snowballstem.org/algorithms/english/stemmer.html.
 * It gives the same stems as the `english_stem` dictionary of PostgreSQL 18.
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
  if (invariantAfterPlural.has(marked)) return marked;
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
