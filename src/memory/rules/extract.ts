import type { Candidate, Turn, Unit } from '../extractor.ts';
import { factsOf, withDates } from './facts.ts';
import { sentencesOf, type Sentence } from './sentences.ts';
import { turnsWithin } from './turns.ts';
import { verbForms } from './verbs.ts';
import { findDates, isPutOff, type Direction } from './dates.ts';
import { subjectKey } from './people.ts';
import { inThirdPerson } from './third-person.ts';

const mostFacts = 2000;
const mostEpisodes = 20_000;

export const rules = { id: 'rules-1', extract: extractByRules };

/**
 * Finds facts and episodes by rules, without a model; precision before recall. English; of other languages only
 * episodes. Pure, synchronous, and linear in the length of the text.
 */
function extractByRules(unit: Unit): Candidate[] {
  const turns = turnsWithin(unit.turns);
  const nobody = nameOfUnnamed(unit, turns);
  const facts: Candidate[] = [];
  const episodes: Candidate[] = [];
  for (const turn of turns) {
    const speaker = speakerOf(turn, unit, nobody);
    if (!isHeard(turn)) continue;
    const sentences = sentencesOf(turn.text);
    if (facts.length < mostFacts && unit.wants.includes('fact') && turn.role !== 'assistant' && isEnglish(turn.text))
      facts.push(...factsOf(turn, sentences, unit, speaker));
    if (episodes.length >= mostEpisodes || !unit.wants.includes('episode') || speaker === null) continue;
    const episode = episodeOf(turn, sentences, unit, speaker);
    if (episode) episodes.push(episode);
  }
  return [...facts.slice(0, mostFacts), ...episodes];
}

function isHeard({ role }: Turn): boolean {
  return role !== 'system' && role !== 'tool';
}

function speakerOf(turn: Turn, unit: Unit, nobody: string | null): string | null {
  if (turn.speaker !== null) return turn.speaker;
  return turn.role === 'assistant' ? 'the assistant' : (unit.author ?? nobody);
}

/**
 * The speaker where nobody is named: the one that the text or the caller names, else `the user`. Nobody, where
 * others are named, as two people cannot both be the user, and in what was not told to memory.
 */
function nameOfUnnamed(unit: Unit, turns: readonly Turn[]): string | null {
  if (unit.trust !== 'told') return null;
  const unnamed = turns.filter(({ speaker, role }) => speaker === null && role !== 'assistant');
  for (const { text } of unnamed) {
    const told =
      /\b(?:[Mm]y name is|[Mm]y name's|[Cc]all me|I['’]m called) (?<name>\p{Lu}[\p{L}'’-]+(?: \p{Lu}[\p{L}'’-]+)?)/u.exec(
        text.slice(0, 100_000),
      );
    if (told && !noName.test(told.groups!['name']!.split(' ')[0]!)) return told.groups!['name']!;
  }
  const known = nameIn(unit.entityContext ?? '');
  if (known !== null) return known;
  const others = turns.some(({ speaker, role }) => speaker !== null && role !== 'assistant');
  return others ? null : 'the user';
}

const noName =
  /^(?:The|This|That|It|User|He|She|They|A|An|My|Our|In|What|Who|Conversation|Messages?|Chat|Assistant|Customer)$/;

function nameIn(context: string): string | null {
  const found =
    /\b(?:named?(?: is)?|called|user is|user:|user's name is) (?<name>\p{Lu}[\p{L}'’-]+(?: \p{Lu}[\p{L}'’-]+)?)|^(?<first>\p{Lu}[\p{L}'’-]+(?: \p{Lu}[\p{L}'’-]+)?) (?:is|was|works|lives)\b/u.exec(
      context.slice(0, 2000),
    )?.groups;
  const name = found?.['name'] ?? found?.['first'];
  return name === undefined || noName.test(name.split(' ')[0]!) ? null : name;
}

const english = new Set(
  'the a an and or but of to in on at for with from is are was were be been am have has had do does did not i you he she it we they my your his her our their me him us them this that what which who how when where will would can could just so too very'.split(
    ' ',
  ),
);

/** Words of grammar and verbs are English ones. Short texts are given the benefit of the doubt. */
export function isEnglish(text: string): boolean {
  const sample = text.slice(0, 2000).toLowerCase();
  const foreign = sample.match(/[^\u0000-\u024f\u2000-\u2bff\ufe0f\ud83c-\udbff\udc00-\udfff]/gu)?.length ?? 0;
  if (foreign > sample.length * 0.15) return false;
  const words = sample.match(/[\p{L}']+/gu) ?? [];
  if (words.length < 3) return true;
  const known = words.filter(
    (word) => english.has(word) || verbForms(word).length > 0 || /^(?:i|we|you|he|she|it|they)'/.test(word),
  ).length;
  if (words.length < 6) return known > 0 || !/[äöüßéèêàçñõãáíóúåøæłśżźčřžő]/.test(sample);
  return known >= words.length * 0.15;
}

const maxCharacters = 600;
const smallTalk =
  /^(?:(?:hi|hey|hello|thanks|thank you|wow|great|cool|nice|congrat\w*|sure|okay|ok|yes|no|yeah|bye|haha\w*|lol|good (?:morning|night|luck|evening)|sounds? (?:good|great|like (?:fun|a plan))|see you|take care|awesome|that['’]s (?:great|awesome|amazing|so|really|good|nice)|good to (?:know|hear)|(?:i['’]m |i am )?(?:so |very )?(?:sorry|glad|happy) to (?:hear|help)|of course|let me know|feel free|you['’]re welcome|no problem|talk soon|i (?:totally )?(?:agree|see|understand)|absolutely|definitely|exactly|same here|me too|no worries)\b[^.!?]{0,40}[.!?…]*\s*)+$/i;
const months = 'January February March April May June July August September October November December'.split(' ');

/** The episode of one turn that states something: in the third person, with its day and its own words. */
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
    saidAt: turn.date,
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
