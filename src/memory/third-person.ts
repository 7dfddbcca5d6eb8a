/** Forms of the first person with the auxiliary that follows, as they read of somebody else. */
const contractions: readonly (readonly [RegExp, string])[] = [
  [/\bI['’]m\b/gi, '@ is'],
  [/\bI['’]ve\b/gi, '@ has'],
  [/\bI['’]ll\b/gi, '@ will'],
  [/\bI['’]d\b/gi, '@ would'],
  [/\bI am\b/g, '@ is'],
  [/\bI have\b/g, '@ has'],
  [/\bI do\b/g, '@ does'],
  [/\bI don['’]t\b/g, "@ doesn't"],
  [/\bI haven['’]t\b/g, "@ hasn't"],
  [/\bam I\b/gi, 'is @'],
];

const adverbs = new Set(
  'no longer really just always never also usually still recently now currently actually only often sometimes already finally mostly mainly generally definitely probably both all'.split(
    ' ',
  ),
);
/** Verbs that are alike in the first and third person: auxiliaries and irregular pasts. */
const unchanged = new Set(
  (
    'was is has had can could will would shall should must might may did does used ought ' +
    'ate became began bought broke brought built came caught chose cut did drank drew drove fell felt found flew forgot fought gave got ' +
    'grew heard held hit hurt kept knew laid led left lent let lost made meant met paid put quit ran rang rode rose said sang sat saw sent ' +
    'set shot slept sold spent spoke spread stood stole swam taught thought threw told took understood went woke won wore wrote slid shut cost ' +
    "cannot can’t can't couldn't won't wouldn't shouldn't wasn't didn't hadn't"
  ).split(' '),
);

/**
 * A sentence that somebody says, told about them: `I live in Porto with my dog` of Mira becomes
 * `Mira lives in Porto with Mira's dog`.
 */
export function toThirdPerson(sentence: string, speaker: string): string {
  let text = sentence;
  for (const [form, replacement] of contractions) text = text.replace(form, replacement);
  text = text.replace(/\bI((?: [a-z’']+)+)/g, (_, words: string) => `@${conjugateFirst(words)}`);
  text = text.replace(
    /(@[^,;]*?,? (?:and|but) )(?=(love|like|live|work|prefer|hate|enjoy|want|need|have|own|play|speak)\b)(\w+)/g,
    (_, before: string, _verb, verb: string) => before + thirdForm(verb),
  );
  text = text
    .replace(/\bI\b/g, '@')
    .replace(/\b(?:myself|me)\b/gi, '@')
    .replace(/\b(?:my|mine)\b/gi, '@’s');
  return text
    .replaceAll('@’s', possessive(speaker))
    .replaceAll('@', speaker)
    .replace(/^the user\b/, 'The user');
}

function conjugateFirst(words: string): string {
  const parts = words.split(' ');
  const index = parts.findIndex((word) => word !== '' && !adverbs.has(word));
  if (index === -1) return words;
  parts[index] = thirdForm(parts[index]!);
  return parts.join(' ');
}

function thirdForm(verb: string): string {
  if (verb === 'have') return 'has';
  if (unchanged.has(verb) || /(?:ed|ing|ly)$/.test(verb) || /n['’]t$/.test(verb)) return verb;
  if (/(?:s|x|z|ch|sh|o)$/.test(verb)) return `${verb}es`;
  return /[^aeiou]y$/.test(verb) ? `${verb.slice(0, -1)}ies` : `${verb}s`;
}

function possessive(name: string): string {
  return `${name}'s`;
}
