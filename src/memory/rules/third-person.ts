import { thirdPersonOf, verbForms } from './verbs.ts';

const adverbs = new Set(
  `no longer really just always never also usually still recently now currently actually only often sometimes already finally mostly mainly
  generally definitely probably both all even ever officially eventually typically normally regularly rarely hardly barely nearly almost
  absolutely totally truly simply quickly slowly initially originally personally honestly then since once soon today yesterday first not
  successfully primarily occasionally frequently seriously partly fully almost newly`.split(/\s+/),
);
/** Words that are alike of everybody. */
const unchanged = new Set(
  `was had can could will would shall should must might may did used ought cannot can't couldn't won't wouldn't shouldn't wasn't didn't hadn't
  ’ll 'll`.split(/\s+/),
);

export function isAdverb(word: string): boolean {
  return adverbs.has(word.toLowerCase()) || /^[a-z]{3,}ily$/.test(word);
}

/** The verb behind `I` as it is said of somebody else; null when the word is not known. */
function finiteThird(word: string): string | null {
  const lower = word.toLowerCase().replaceAll('’', "'");
  const odd: Record<string, string> = {
    am: 'is',
    are: 'is',
    were: 'was',
    have: 'has',
    do: 'does',
    "don't": "doesn't",
    "haven't": "hasn't",
    "aren't": "isn't",
    "weren't": "wasn't",
  };
  if (odd[lower] !== undefined) return odd[lower];
  if (unchanged.has(lower)) return lower;
  const known = verbForms(lower);
  if (known.some(({ forms }) => forms.has('past'))) return lower;
  const base = known.find(({ forms }) => forms.has('base'))?.base;
  return base === undefined ? null : thirdPersonOf(base);
}

const contracted: readonly (readonly [RegExp, string])[] = [
  [/\b(I)['’]m\b/gi, '$1 am'],
  [/\b(I|we|you|they)['’]ve\b/gi, '$1 have'],
  [/\b(I|we|he|she|they|you)['’]ll\b/gi, '$1 will'],
  [/\b(we|they|you)['’]re\b/gi, '$1 are'],
];

/** Contractions of pronouns in full; `’d` and `’s` stay, as they have two meanings. */
export function expanded(text: string): string {
  let full = text.replaceAll('’', "'");
  for (const [form, replacement] of contracted) full = full.replace(form, replacement);
  return full.replace(/\bi (?=am\b|have\b|will\b)/g, 'I ');
}

/**
 * Turns first-person statements into the third person: `I live in Porto with my dog` of Mira becomes `Mira lives in
 * Porto with Mira's dog`. With `strict`, null when a verb behind `I` is not known; else that verb stays.
 */
export function inThirdPerson(text: string, speaker: string, { strict }: { strict: boolean }): string | null {
  let isCertain = true;
  const told = expanded(text)
    .replace(/\b(am|have|do|was|did|will|can|should|could|would) I\b/g, (_, verb: string) => `${finiteThird(verb)} @`)
    .replace(/\bI\b(?!')((?: [a-z']+){0,4})/g, (_, words: string) => {
      const third = behindPronoun(words);
      isCertain &&= third !== null;
      return `@${third ?? words}`;
    })
    .replace(/\b(?:by|for) myself\b/gi, 'alone')
    .replace(/\b[Mm]yself\b/g, '@')
    .replace(/\b(?:my|mine)\b/gi, '@’s')
    .replace(/\b[Mm]e\b/g, '@');
  if (strict && (!isCertain || /\b[Mm]yself\b/.test(text.replace(/\b(?:by|for) myself\b/gi, '')))) return null;
  return told.replaceAll('@’s', `${speaker}'s`).replaceAll('@', speaker);
}

function behindPronoun(words: string): string | null {
  if (words === '') return '';
  const parts = words.slice(1).split(' ');
  const place = parts.findIndex((word) => !isAdverb(word));
  const third = place === -1 ? null : finiteThird(parts[place]!);
  if (third === null) return null;
  return ` ${parts.with(place, third).join(' ')}`;
}
