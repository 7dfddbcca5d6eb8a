import { normalized } from '../../base/normalized.ts';

/** People and animals that somebody has, by what they are called to him. */
export const kin =
  'mother father mom dad mum sister brother son daughter wife husband partner girlfriend boyfriend fiancé fiancée fiance fiancee uncle aunt cousin niece nephew grandmother grandfather grandma grandpa stepmother stepfather stepson stepdaughter twin friend boss manager colleague coworker co-worker neighbour neighbor roommate flatmate teacher coach mentor supervisor therapist doctor dentist landlord tutor assistant dog cat puppy kitten horse parrot rabbit';

const kinPattern = kin.replaceAll(' ', '|');
const name = String.raw`\p{Lu}[\p{Ll}\p{M}’'-]{1,30}`;

/** `my sister Anna`, `my best friend`, `our dog`. */
export const relative = new RegExp(
  String.raw`\b[Mm]y (?:(?:older|younger|big|little|elder|best|old|new|oldest|youngest|twin|ex) ){0,2}(?:${kinPattern})(?: ${name})?\b`,
  'gu',
);

const noPerson = new Set(
  'i monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september october november december the my our a an in on at it this that we he she they you'.split(
    ' ',
  ),
);
const personVerb =
  /^(?:is|was|has|had|will|works|lives|likes|loves|said|says|wants|plans|joined|moved|started|studies|bought|got|went|plays|left|told|prefers|teaches|runs|hates|graduated|became|adopted|married|turned)$/;

/** The one person that a sentence is about, as it names him; undefined: none; null: several, so that `she` is nobody certain. */
export function personIn(sentence: string): string | null | undefined {
  const found = new Set((sentence.match(relative) ?? []).map((one) => one.charAt(0).toLowerCase() + one.slice(1)));
  const words = sentence.split(' ');
  for (let place = 0; place + 1 < words.length; place += 1) {
    const word = words[place]!;
    if (!/^\p{Lu}[\p{Ll}\p{M}’'-]{1,30}$/u.test(word) || noPerson.has(word.toLowerCase())) continue;
    if (personVerb.test(words[place + 1]!) && !/^[a-zé]/.test(words[place - 1] ?? 'A'))
      found.add(nameEndingAt(words, place));
  }
  if (found.size === 0) return undefined;
  return found.size === 1 ? [...found][0]! : null;
}

function nameEndingAt(words: readonly string[], place: number): string {
  const before = words[place - 1] ?? '';
  const isFirst = /^\p{Lu}[\p{Ll}\p{M}’'-]{1,30}$/u.test(before) && !noPerson.has(before.toLowerCase());
  return isFirst ? `${before} ${words[place]}` : words[place]!;
}

/** One key for one subject, however it is written: stored, and compared by. */
export function subjectKey(subject: string): string {
  return normalized(subject, 'NFKC')
    .toLowerCase()
    .replaceAll('’', "'")
    .replace(/^(?:the|our|an?) /, '')
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, 200);
}
