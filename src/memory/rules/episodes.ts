import type { Candidate, Turn, Unit } from '../extractor.ts';
import { findDates, isPutOff, type Direction } from './dates.ts';
import { withDates } from './facts.ts';
import { subjectKey } from './people.ts';
import type { Sentence } from './sentences.ts';
import { inThirdPerson } from './third-person.ts';
import { verbForms } from './verbs.ts';

const maxCharacters = 600;
const smallTalk =
  /^(?:(?:hi|hey|hello|thanks|thank you|wow|great|cool|nice|congrat\w*|sure|okay|ok|yes|no|yeah|bye|haha\w*|lol|good (?:morning|night|luck|evening)|sounds? (?:good|great|like (?:fun|a plan))|see you|take care|awesome|that['’]s (?:great|awesome|amazing|so|really|good|nice)|good to (?:know|hear)|(?:i['’]m |i am )?(?:so |very )?(?:sorry|glad|happy) to (?:hear|help)|of course|let me know|feel free|you['’]re welcome|no problem|talk soon|i (?:totally )?(?:agree|see|understand)|absolutely|definitely|exactly|same here|me too|no worries)\b[^.!?]{0,40}[.!?…]*\s*)+$/i;
const months = 'January February March April May June July August September October November December'.split(' ');

/** What somebody said in one turn, when it tells something: in the third person, with its day and its own words. */
export function episodeOf(turn: Turn, sentences: readonly Sentence[], unit: Unit, speaker: string): Candidate | null {
  const said = turn.date ?? unit.date;
  const kept = withinBounds(sentences.filter(({ text }) => tells(text) && !(turn.role === 'assistant' && asks(text))));
  if (kept.length === 0 || kept.reduce((count, { text }) => count + wordsOf(text), 0) < 4) return null;
  const told = kept.map(({ text }) => capital(dated(inThirdPerson(text, speaker, { strict: false })!, said))).join(' ');
  const first = kept[0]!;
  const last = kept.at(-1)!;
  const span =
    turn.start === null ? null : { start: turn.start + first.start, end: turn.start + last.start + last.text.length };
  return {
    text: `On ${said.getUTCDate()} ${months[said.getUTCMonth()]} ${said.getUTCFullYear()} ${speaker} said: ${told}`,
    kind: 'episode',
    category: 'event',
    author: turn.speaker,
    subject: subjectKey(speaker),
    slot: null,
    value: null,
    ends: false,
    isStatic: false,
    isInference: false,
    eventDates: [said.toISOString().slice(0, 10)],
    forgetAfter: null,
    span,
    ...(turn.date !== null && { saidAt: turn.date }),
  };
}

/** A question tells something when it says of what it asks; a greeting alone does not. */
function tells(text: string): boolean {
  if (smallTalk.test(text)) return false;
  return !asks(text) || /\p{L} \p{Lu}|\d|\b(?:I|my|we|our)\b/u.test(text);
}

function asks(text: string): boolean {
  return text.trimEnd().endsWith('?');
}

/** The weightiest sentences of a long turn, in their order. */
function withinBounds(sentences: readonly Sentence[]): Sentence[] {
  const total = sentences.reduce((count, { text }) => count + text.length, 0);
  if (total <= maxCharacters) return [...sentences];
  const byWeight = sentences
    .slice(0, 400)
    .map((sentence, place) => ({ sentence, place, weight: weightOf(sentence.text) - place * 0.01 }))
    .sort((left, right) => right.weight - left.weight);
  let room = maxCharacters;
  const taken = byWeight.filter(({ sentence: { text } }) => text.length <= room && (room -= text.length) >= 0);
  if (taken.length === 0)
    return sentences.slice(0, 1).map((one) => ({ ...one, text: `${one.text.slice(0, maxCharacters - 1)}…` }));
  return taken.sort((left, right) => left.place - right.place).map(({ sentence }) => sentence);
}

function weightOf(text: string): number {
  const head = text.slice(0, 1000);
  const personal = /\b(?:I|my|we|our|I'm|I've)\b/.test(head) ? 1.5 : 0;
  const numbers = Math.min(3, head.match(/\d+/g)?.length ?? 0);
  const names = Math.min(3, head.match(/(?<=[\p{Ll},] )\p{Lu}\p{L}+/gu)?.length ?? 0);
  return personal + numbers * 0.7 + names * 0.7 - (head.endsWith('?') ? 1 : 0) - text.length / 600;
}

function dated(text: string, said: Date): string {
  return withDates(text, findDates(text, said, directionIn(text)));
}

/** By the words alone: a sentence may be of any shape here. */
function directionIn(text: string): Direction {
  if (
    isPutOff(text) ||
    /\b(?:will|going to|plan(?:s|ning)?|want(?:s)? to|hop(?:es?|ing) to|next|upcoming|tomorrow)\b|'ll\b/i.test(text)
  )
    return 'ahead';
  const words =
    text
      .slice(0, 1000)
      .toLowerCase()
      .match(/[a-z']+/g) ?? [];
  const isPast = (word: string) => verbForms(word).some(({ forms }) => forms.has('past') && !forms.has('base'));
  return words.some(isPast) ? 'past' : null;
}

function wordsOf(text: string): number {
  return text.slice(0, 200).match(/[\p{L}\p{N}]+/gu)?.length ?? 0;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
