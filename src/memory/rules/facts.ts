import type { Candidate, Category, Turn, Unit } from '../extractor.ts';
import { attributeOf } from './attributes.ts';
import { clausesOf } from './clauses.ts';
import { findDates, isPutOff, type Direction, type FoundDate } from './dates.ts';
import { isFact } from './judgement.ts';
import { personIn, subjectKey } from './people.ts';
import { isPerson } from './personal.ts';
import type { Sentence } from './sentences.ts';
import { statementOf, type Statement } from './statement.ts';

/** Of one turn. */
const mostFacts = 2000;
const maxCharacters = 420;
const speechAct =
  /^(?:hi|hey|hello|thanks|thank you|wow|congrat\w*|bye|good (?:morning|night|luck|evening)|sounds? (?:good|great|like)|see you|take care|dear)\b/i;
const quoting =
  /\b(?:said|says|told|asked|mentioned|claims?|claimed|heard|read that|according to|reported|thinks|believes|tells)\b/i;

/** The facts of one turn. `speaker` is who `I` is; null: nobody. */
export function factsOf(turn: Turn, sentences: readonly Sentence[], unit: Unit, speaker: string | null): Candidate[] {
  const said = turn.date ?? unit.date;
  const facts: Candidate[] = [];
  let person: string | null = null;
  for (const sentence of sentences) {
    if (facts.length >= mostFacts || handsOver(sentence.text)) break;
    if (isTelling(sentence.text)) facts.push(...factsIn(sentence, { turn, said, speaker, person }));
    const named = personIn(sentence.text);
    person = named === undefined ? person : named;
  }
  return facts;
}

const task =
  /^(?:(?:please|now|then|and|hey|can you|could you|would you|will you|help me|i want you to|i need you to)[, ]+)*(?:translate|rewrite|rephrase|reword|paraphrase|proofread|summari[sz]e|shorten|correct|fix|check|edit|improve|polish|convert|transcribe|repeat|say|write|read|explain|analy[sz]e|classify|complete|continue|answer|reply)\b(?! (?:this|that|it) (?:down|out)\b)[^:]{0,120}:/i;

/** What follows `Translate this:` is a text to work on, and tells nothing of the one who hands it over. */
function handsOver(text: string): boolean {
  return task.test(text.slice(0, 300));
}

function isTelling(text: string): boolean {
  if (text.length > maxCharacters || text.length < 8 || speechAct.test(text)) return false;
  return !quoting.test(text) || /^(?:did i (?:tell|mention)|(?:as )?i (?:said|mentioned)|i forgot to)/i.test(text);
}

interface Context {
  turn: Turn;
  said: Date;
  speaker: string | null;
  person: string | null;
}

function factsIn(sentence: Sentence, context: Context): Candidate[] {
  let person = context.person;
  const facts: Candidate[] = [];
  for (const clause of clausesOf(sentence.text)) {
    const antecedent = person === null ? null : ownedBy(person, context.speaker);
    const statement = statementOf(clause.text, context.speaker, antecedent);
    const named = personIn(clause.text);
    person = named === undefined ? person : named;
    const fact = statement && factOf(statement, sentence, context);
    if (fact) facts.push(fact);
  }
  return facts;
}

/** `my sister` as somebody else calls her; null where `my` is nobody's. */
function ownedBy(person: string, speaker: string | null): string | null {
  if (!person.startsWith('my ')) return person;
  return speaker === null ? null : person.replace(/^my /, `${speaker}'s `);
}

function factOf(statement: Statement, sentence: Sentence, { turn, said, speaker }: Context): Candidate | null {
  const dates = findDates(statement.text, said, directionOf(statement));
  const undated = withoutDates(statement.predicate.rest, dates);
  const attribute = attributeOf(statement, undated, { hasPast: isLongAgo(dates, said), count: dates.length });
  if (!isFact(statement, { dated: dates.length > 0, hasSlot: attribute !== null, nobody: speaker === null }))
    return null;
  const subject = subjectKey(attribute?.subject ?? statement.subject);
  const isAhead = dates.some(({ end }) => end > said);
  const forget = forgottenAfter(statement, dates, said);
  return {
    text: `${withDates(statement.text, dates)}.`,
    kind: 'fact',
    category: attribute?.category ?? categoryOf(statement, isAhead),
    author: turn.speaker,
    subject,
    slot: attribute?.slot ?? null,
    value: attribute?.value ?? null,
    ends: attribute?.ends ?? false,
    ...(attribute?.replaces !== undefined && { replaces: attribute.replaces }),
    ...(attribute?.revises && { revises: true }),
    isStatic: attribute?.isStatic ?? false,
    isInference: false,
    eventDates: [...new Set(dates.map(({ iso }) => iso))],
    forgetAfter: attribute?.isStatic ? null : forget,
    span: turn.start === null ? null : spanOf(turn.start, sentence),
    ...(turn.date !== null && { saidAt: turn.date }),
  };
}

function spanOf(offset: number, { start, text }: Sentence): Candidate['span'] {
  return { start: offset + start, end: offset + start + text.length };
}

function directionOf({ predicate }: Statement): Direction {
  if (predicate.ended) return 'past';
  if (isPutOff(`${predicate.base} ${predicate.rest}`)) return 'ahead';
  if (/^(?:plan|wish|duty|progressive|present|passive)$/.test(predicate.tense)) return 'ahead';
  return predicate.tense === 'past' || predicate.tense === 'past passive' ? 'past' : null;
}

function categoryOf(statement: Statement, isAhead: boolean): Category {
  const { tense, base } = statement.predicate;
  if (
    tense === 'plan' ||
    tense === 'wish' ||
    tense === 'duty' ||
    (isAhead && (tense === 'progressive' || tense === 'present'))
  )
    return 'plan';
  if (isPerson(statement) && tense === 'present' && /^(?:like|love|enjoy|prefer|hate|dislike|avoid)$/.test(base))
    return 'preference';
  return tense === 'past' || tense === 'past passive' ? 'event' : 'fact';
}

/** What is planned for a day is over after it. */
function forgottenAfter(statement: Statement, dates: readonly FoundDate[], said: Date): Date | null {
  const { tense } = statement.predicate;
  const last = Math.max(...dates.map(({ end }) => end.getTime()));
  const isPassing = /^(?:plan|wish|duty|progressive|present|passive)$/.test(tense) && dates.length > 0;
  return isPassing && last > said.getTime() ? new Date(last) : null;
}

function isLongAgo(dates: readonly FoundDate[], said: Date): boolean {
  return dates.some(({ end }) => said.getTime() - end.getTime() > 300 * 86_400_000);
}

/** Relative dates keep their words, followed by the day: `yesterday (2026-03-03)`. */
export function withDates(text: string, dates: readonly FoundDate[]): string {
  let dated = '';
  let from = 0;
  for (const { index, words, plain, relative } of dates) {
    const end = index + words.length;
    dated += text.slice(from, end) + (relative && !text.slice(end).startsWith(' (') ? ` (${plain})` : '');
    from = end;
  }
  return dated + text.slice(from);
}

function withoutDates(rest: string, dates: readonly FoundDate[]): string {
  return dates
    .reduce((text, { words }) => text.replace(words, ' '), rest)
    .replace(/ {2,}/g, ' ')
    .trim();
}
