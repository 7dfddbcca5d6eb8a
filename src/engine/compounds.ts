import { createRequire } from 'node:module';
import createHyphenator, { type PatternsDefinition } from 'hyphen';

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
