import { kin } from './people.ts';
import { predicateOf, type Predicate } from './predicate.ts';
import { inThirdPerson, isAdverb } from './third-person.ts';
import { baseOf } from './verbs.ts';

/** A clause that was understood: who or what, and what is said of it. */
export interface Statement {
  /** In the third person, without its full stop. */
  text: string;
  /** Its subject as it stands in the text. */
  subject: string;
  /** `speaker`: whoever says it; `his`: somebody or something of his; `named`: has a name; `thing`: `the weekly review`. */
  about: 'speaker' | 'his' | 'named' | 'thing';
  isPlural: boolean;
  predicate: Predicate;
  /** The words of time that it begins with. */
  opening: string;
  speaker: string | null;
}

const time =
  /^(?<time>(?:so far|(?:last|this|next|every|each|earlier this) (?:week|weekend|month|year|spring|summer|autumn|fall|winter|morning|evening|afternoon|night|monday|tuesday|wednesday|thursday|friday|saturday|sunday)|(?:in|on|since|by|as of|at|until|from) [^,]{2,30}|yesterday|today|tomorrow|tonight|(?:two|three|four|five|six|a few|a couple of|\d{1,3}|a|one) (?:days|weeks|months|years|day|week|month|year) ago)(?: evening| morning| night| afternoon)?),? (?=(?:I|[Ww]e|[Mm]y|[Oo]ur|\p{Lu}[\p{L}’'-]+|the) )/iu;

/** Null when its subject is not known, or its predicate not understood. */
export function statementOf(clause: string, speaker: string | null, antecedent: string | null): Statement | null {
  const opening = time.exec(clause)?.groups?.['time'] ?? '';
  const said = opening === '' ? clause : capital(clause.slice(opening.length).replace(/^,? /, ''));
  const named = withSubject(said, speaker, antecedent);
  if (named === null) return null;
  if (/^(?:[a-z]+ )?[a-z]+,/.test(named.predicate)) return null;
  const predicate = predicateOf(named.predicate);
  if (predicate === null) return null;
  const text = told(named, opening, speaker);
  return text === null ? null : { ...named, text, predicate, opening, speaker };
}

interface Subject {
  subject: string;
  about: Statement['about'];
  isPlural: boolean;
  /** As it was said. */
  spoken: string;
  predicate: string;
}

function withSubject(text: string, speaker: string | null, antecedent: string | null): Subject | null {
  const pronoun = /^(?:I|We|He|She)\b(?=\s)/.exec(text)?.[0];
  if (pronoun === 'I' || pronoun === 'We') {
    if (speaker === null) return null;
    return {
      subject: speaker,
      about: 'speaker',
      isPlural: pronoun === 'We',
      spoken: 'I',
      predicate: text.slice(pronoun.length + 1),
    };
  }
  const resolved = withoutPronoun(text, antecedent);
  const place = resolved === null ? -1 : verbPlace(resolved);
  if (resolved === null || place === -1) return null;
  const words = resolved.split(' ');
  const spoken = words.slice(0, place).join(' ');
  const about = kindOf(spoken, text === resolved);
  if (about === null || (speaker === null && /\b(?:[Mm]y|[Oo]ur)\b/.test(spoken))) return null;
  if (about === 'his' && /^My (?:full |first )?name$/.test(spoken)) return null;
  const subject = spoken.replace(/\b(?:[Mm]y|[Oo]ur)\b/g, `${speaker}'s`);
  return { subject, about, isPlural: false, spoken, predicate: words.slice(place).join(' ') };
}

/** `She works there` after a sentence with one person is about that person; alone it is about nobody. */
function withoutPronoun(text: string, antecedent: string | null): string | null {
  const pronoun = /^(?:He|She|His|Her)\b/.exec(text)?.[0];
  if (pronoun === undefined)
    return text.replace(
      /^(\p{Lu}[\p{L}’-]+(?: \p{Lu}[\p{L}’-]+)?)'s (?=(?:a|an|been|got|working|living|moving|in|at|from|not|now|planning|allergic) )/u,
      '$1 is ',
    );
  if (antecedent === null) return null;
  const isOwner = pronoun === 'His' || pronoun === 'Her';
  return `${capital(antecedent)}${isOwner ? "'s" : ''}${text
    .slice(pronoun.length)
    .replace(/^'s (?=been|got)/, ' has ')
    .replace(/^'s /, ' is ')}`;
}

const auxiliary =
  /^(?:is|are|was|were|has|have|had|will|can|does|do|did|isn't|aren't|wasn't|doesn't|didn't|hasn't|can't|won't|cannot)$/;
const pluralSubject =
  /^(?:my|our|the|both|two|three|\p{Lu}).*(?:[^s]s|children|kids|people|parents|men|women)$|\band\b/u;

/** Where the predicate begins; -1 when that is not certain. */
function verbPlace(text: string): number {
  const words = text.split(' ', 12);
  for (let place = 1; place < Math.min(words.length, 10); place += 1) {
    const word = words[place]!;
    if (/[,;:]$/.test(words[place - 1]!)) return -1;
    const isSubject = !/^(?:the|my|our|a|an|of|for|in|on|at|to|with|from|and)$/i.test(words[place - 1]!);
    if (!isSubject) continue;
    if (auxiliary.test(word) || (word === 'no' && words[place + 1] === 'longer')) return place;
    if (isAdverb(word) && place + 1 < words.length && finite(words, place + 1)) return place;
    if (finite(words, place)) return place;
  }
  return -1;
}

function finite(words: readonly string[], place: number): boolean {
  const word = words[place]!;
  if (auxiliary.test(word)) return true;
  if (!/^[a-z]+$/.test(word) || auxiliary.test(words[place + 1] ?? '')) return false;
  const before = words.slice(0, place).join(' ');
  if (
    /^(?:of|for|with)$/.test(words[place + 1] ?? '') &&
    baseOf(word, 'past') === null &&
    baseOf(word, 'third') !== 'work'
  )
    return false;
  return (
    baseOf(word, ...(pluralSubject.test(before) ? (['past', 'base'] as const) : (['past', 'third'] as const))) !== null
  );
}

const kinOf = new RegExp(String.raw`'s (?:${kin.replaceAll(' ', '|')})$`);
const noName =
  /^(?:The|A|An|This|That|These|Those|It|There|Here|They|You|Your|Their|Its|What|Which|Who|How|Why|When|Where|If|Everything|Everyone|Everybody|Something|Someone|Somebody|Nothing|Nobody|One|Some|Any|All|Most|Many|Each|Every|Both|Another|Other|Such|People|Life|Time|Things|Being|Having|Going|Getting|Let|Please|Thanks|Yes|No|So|As|And|But|Or|For|In|On|At|By|With|From|To|Of|Now|Then|First|Last|Next|Today|Tomorrow|Yesterday|Family|Music|Art|Nature|Love|Work|Home|Food|Nice|Great|Good|Cool|Wow|Sounds|Glad|Sorry|Hope|Looks|Also|Just|Even|Still|Maybe|Not)\b/;

function kindOf(subject: string, isOwnWords: boolean): Statement['about'] | null {
  if (/\bI\b|\b(?:you|your|this|that|these|those|it|its|they|their|them|he|she|him|his|her|there)\b/i.test(subject))
    return null;
  if (/^(?:My|Our)\b/i.test(subject)) return 'his';
  if (!isOwnWords || kinOf.test(subject)) return 'named';
  const words = subject.split(' ');
  const hasName = words.slice(1).some((word) => /^\p{Lu}/u.test(word));
  if (hasName && !/^(?:This|That|These|Those|It|There|What|If|Some|Any|All|Another)\b/.test(subject)) return 'named';
  if (/^\p{Lu}\p{Ll}+ (?:\p{Ll}+ ){0,3}of (?:my|our) /u.test(subject)) return 'thing';
  if (!noName.test(subject))
    return words.length === 1 && isOneName(subject) ? 'named' : words[0]!.endsWith("'s") ? 'named' : null;
  return /^The \p{Ll}/u.test(subject) && words.length >= 3 ? 'thing' : null;
}

/** One capital word at the beginning is a name unless it is a word of another kind. */
function isOneName(word: string): boolean {
  return (
    /^\p{Lu}[\p{L}’'-]+$/u.test(word) &&
    baseOf(word, 'gerund', 'base', 'past') === null &&
    !/(?:ing|[^s]s|ness|tion|ity|ment)$/.test(word)
  );
}

function told({ spoken, predicate, about, subject }: Subject, opening: string, speaker: string | null): string | null {
  const said = about === 'speaker' ? `I ${predicate}` : predicate;
  const third =
    speaker === null
      ? ofNobody(said)
      : inThirdPerson(said.replace(/\b(?:[Oo]urs?)\b/g, 'my').replace(/\b(?:us)\b/g, 'me'), speaker, { strict: true });
  if (third === null || spoken === '') return null;
  const whole = about === 'speaker' ? third : `${subject} ${third}`;
  return opening === ''
    ? capital(whole)
    : `${capital(opening)}, ${/^(?:The|the) /.test(whole) && about !== 'named' ? lower(whole) : whole}`;
}

/** In a text of nobody the first person is nobody. */
function ofNobody(text: string): string | null {
  return /\b(?:I|me|my|mine|myself|we|us|our|ours)\b/.test(text) ? null : text;
}

function lower(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
