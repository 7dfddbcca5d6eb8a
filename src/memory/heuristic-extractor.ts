import { findDates, type FoundDate } from './dates.ts';
import type { Candidate, Extractor, MemoryKind, Turn, Unit } from './extractor.ts';
import { sentencesOf, type Sentence } from './sentences.ts';
import { slotOf } from './slots.ts';
import { toThirdPerson } from './third-person.ts';

/** Statements of one unit at the most; the weightiest are taken. */
const maxStatements = 100;
const minWords = 3;
const maxCharacters = 500;

const smallTalk =
  /^(?:hi|hey|hello|thanks|thank you|wow|great|cool|nice|congrat\w*|sure|okay|ok|yes|no|yeah|bye|good (?:morning|night|luck)|sounds? (?:good|great)|see you|take care|awesome|that['’]s)\b/i;
const leadIn =
  /^(?:(?:well|so|oh|also|and|but|anyway|actually|by the way|btw|fyi|note that|remember(?: that)?|please remember(?: that)?|i was wrong|correction|in fact|to be honest|just so you know|update|ok|okay|yes|no|yeah|hey|hi|sorry|for the record|i think(?: that)?|i mean)[,:;—–-]*\s+)+/i;
const noLonger =
  /^(?:it|this|that|these|those|there|here|they|he|she|we|you|which|who|what|when|if|let|please|maybe|perhaps|as|because|and|or|but)$/i;
const verb =
  /^(?:is|are|was|were|has|have|had|will|would|can|could|should|must|may|might|does|did|do|isn['’]t|aren['’]t|wasn['’]t|doesn['’]t|don['’]t|didn['’]t|won['’]t|can['’]t|cannot|hasn['’]t|no|used|went|got|made|took|gave|began|bought|came|met|left|kept|won|lost|found|sold|built|wrote|spent|taught|said|told|thought|ran|quit|became|felt|saw|read|grew|(?:\p{Ll}{3,}(?:ed|es|s)))$/u;

/**
 * Finds statements by rules, without a model: sentences with a subject and content, told in the third
 * person of who says them, with their dates resolved. Leaves out questions, requests, small talk, what an
 * assistant says, and sentences whose subject is not in them. English.
 */
export function createHeuristicExtractor(): Extractor {
  return {
    id: 'heuristic-1',
    extract: async (unit, signal) => {
      const user = nameOf(unit);
      const found: Weighed[] = [];
      for (const turn of unit.turns) {
        signal.throwIfAborted();
        if (isHeard(turn)) found.push(...statementsOf(turn, unit, turn.speaker ?? user));
      }
      return heaviest(found);
    },
  };
}

interface Weighed {
  candidate: Candidate;
  weight: number;
}

function isHeard({ role, speaker }: Turn): boolean {
  return role === null || role === 'user' || (role === 'assistant' && speaker !== null);
}

/** Who says `I` where nobody is named. */
function nameOf({ turns, entityContext }: Unit): string {
  for (const { text, speaker, role } of turns) {
    if (speaker !== null || role === 'assistant') continue;
    const told = /\b(?:[Mm]y name is|[Cc]all me|I['’]m called) (?<name>\p{Lu}\p{L}+(?: \p{Lu}\p{L}+)?)/u.exec(text);
    if (told) return told.groups!['name']!;
  }
  const known = /\b(?:named?(?: is)?|called|user is|user:) (?<name>\p{Lu}\p{L}+)|^(?<first>\p{Lu}\p{L}+) is\b/u.exec(
    entityContext ?? '',
  );
  const name = known?.groups?.['name'] ?? known?.groups?.['first'];
  return name === undefined || /^(?:The|This|It|User|He|She)$/.test(name) ? 'the user' : name;
}

function statementsOf(turn: Turn, unit: Unit, speaker: string): Weighed[] {
  let lastNamed: string | null = null;
  return sentencesOf(turn.text).flatMap((sentence) => {
    const made = statementOf(sentence, turn, unit, { speaker, lastNamed });
    lastNamed = personIn(sentence.text, lastNamed);
    return made ? [made] : [];
  });
}

function statementOf(
  sentence: Sentence,
  turn: Turn,
  unit: Unit,
  { speaker, lastNamed }: { speaker: string; lastNamed: string | null },
): Weighed | null {
  if (!isTelling(sentence.text)) return null;
  const stripped = sentence.text.replace(leadIn, '').trim();
  const named = withoutPronoun(asTold(stripped, speaker), lastNamed);
  if (named === null) return null;
  const { text, dates } = withDates(named, unit.date);
  const subject = subjectOf(text);
  if (subject === null || contentWords(text) < minWords) return null;
  const start = turn.start === null ? null : turn.start + sentence.start;
  const span = start === null ? null : { start, end: start + sentence.text.length };
  const candidate = candidateOf({ text, subject, dates, date: unit.date, span });
  return { candidate, weight: weightOf(candidate, speaker) };
}

function isTelling(text: string): boolean {
  if (text.length > maxCharacters || /\?\s*["”’)]*$/.test(text)) return false;
  return !(smallTalk.test(text) && text.replace(leadIn, '').split(' ').length < 6);
}

/** First person told in the third; what is left of `we` and `you` cannot be told so. */
function asTold(text: string, speaker: string): string {
  const given = /^[Mm]y name is (?<name>\p{Lu}.+)$/u.exec(text)?.groups?.['name'];
  if (given !== undefined) return `${capital(speaker)} is called ${given}`;
  const told = /\b(?:I|I['’]\w+|[Mm]e|[Mm]y|[Mm]ine|[Mm]yself)\b/.test(text) ? toThirdPerson(text, speaker) : text;
  return capital(told);
}

/** `She works there` after a sentence with one person is about that person; alone it is about nobody. */
function withoutPronoun(text: string, lastNamed: string | null): string | null {
  const opening = /^(?<pronoun>he|she|his|her)\b/i.exec(text)?.groups?.['pronoun']?.toLowerCase();
  if (opening !== undefined && lastNamed === null) return null;
  if (opening === undefined) return text;
  const isPossessive = opening === 'his' || (opening === 'her' && !verb.test(text.split(' ')[1] ?? ''));
  return `${lastNamed}${isPossessive ? "'s" : ''}${text.slice(opening.length)}`;
}

function personIn(text: string, before: string | null): string | null {
  const names = text.match(
    /(?<=^|[\p{Ll},] )\p{Lu}\p{Ll}+(?: \p{Lu}\p{Ll}+)?(?= (?:is|was|has|had|will|works|lives|likes|loves|said|wants|plans|joined|moved|started)\b)/gu,
  );
  return names?.length === 1 ? names[0] : names === null ? before : null;
}

/** Relative dates keep their words, followed by the day: `yesterday (2026-03-03)`. */
function withDates(text: string, date: Date): { text: string; dates: FoundDate[] } {
  const dates = findDates(text, date);
  let dated = '';
  let from = 0;
  for (const { index, words, iso, relative } of dates) {
    dated += text.slice(from, index + words.length) + (relative ? ` (${iso})` : '');
    from = index + words.length;
  }
  return { text: dated + text.slice(from), dates };
}

/** The words before the verb, when these name something. */
function subjectOf(text: string): string | null {
  const words = text.split(/\s+/);
  const place = words
    .slice(0, 9)
    .findIndex((word, index) => index > 0 && verb.test(word) && !/['’]s$/.test(words[index - 1]!));
  const first = words[0]!;
  if (place < 1 || noLonger.test(first)) return null;
  const subject = words
    .slice(0, place)
    .join(' ')
    .replace(
      /(?: (?:really|just|always|never|also|usually|still|recently|now|currently|often|sometimes|already|only))+$/,
      '',
    );
  return /[,;:]$/.test(subject) || !/\p{L}/u.test(subject) ? null : subject;
}

function contentWords(text: string): number {
  return (text.match(/[\p{L}\p{N}][\p{L}\p{N}'’-]*/gu) ?? []).length;
}

const planned =
  /\b(?:will|going to|plans? to|planning to|intends? to|scheduled|until|tonight|tomorrow|next (?:week|month|year))\b/i;
const happened =
  /\b(?:went|visited|attended|met|bought|started|finished|celebrated|joined|won|lost|ran|yesterday|ago|last (?:night|week|month|year))\b/i;

function candidateOf(found: {
  text: string;
  subject: string;
  dates: readonly FoundDate[];
  date: Date;
  span: Candidate['span'];
}): Candidate {
  const { text, dates, date, span } = found;
  const slot = slotOf(text, found.subject);
  const ends = dates.map((one) => one.end.getTime());
  const isAhead = ends.some((end) => end > date.getTime());
  const passing = planned.test(text) || /\b(?:today|tonight|this (?:morning|afternoon|evening))\b/i.test(text);
  const kind: MemoryKind =
    slot?.kind === 'preference' ? 'preference' : passing && isAhead ? 'plan' : happened.test(text) ? 'event' : 'fact';
  return {
    text,
    kind,
    subject: subjectKey(slot?.subject ?? found.subject),
    slot: slot?.slot ?? null,
    value: slot?.value ?? null,
    ends: slot?.ends ?? false,
    isStatic: slot?.isStatic ?? false,
    isInference: false,
    eventDates: [...new Set(dates.map((one) => one.iso))],
    forgetAfter: passing && isAhead && !slot?.isStatic ? new Date(Math.max(...ends)) : null,
    span,
  };
}

function subjectKey(subject: string): string {
  return subject
    .toLowerCase()
    .replace(/^(?:the|our|an?) /, '')
    .slice(0, 200);
}

function weightOf({ text, slot, eventDates, subject }: Candidate, speaker: string): number {
  const named = /(?<!^)\b\p{Lu}\p{L}+/u.test(text) ? 1 : 0;
  const counted = /\d/.test(text) ? 1 : 0;
  const personal = subject.startsWith(subjectKey(speaker)) ? 1 : 0;
  return (slot ? 3 : 0) + eventDates.length + named + counted + personal;
}

function heaviest(found: readonly Weighed[]): Candidate[] {
  if (found.length <= maxStatements) return found.map(({ candidate }) => candidate);
  const least = found.map(({ weight }) => weight).sort((left, right) => right - left)[maxStatements - 1]!;
  const above = found.filter(({ weight }) => weight > least).length;
  let room = maxStatements - above;
  return found
    .filter(({ weight }) => weight > least || (weight === least && room-- > 0))
    .map(({ candidate }) => candidate);
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
