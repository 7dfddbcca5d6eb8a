import type { Candidate, Category, Turn, Unit } from '../extractor.ts';
import { attributeOf } from './attributes.ts';
import { clausesOf } from './clauses.ts';
import { findDates, isPutOff, type Direction, type FoundDate } from './dates.ts';
import { personIn, subjectKey, relative } from './people.ts';
import { isPerson } from './personal.ts';
import type { Sentence } from './sentences.ts';
import { statementOf, type Statement } from './statement.ts';
import { tells } from './verbs.ts';

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

/** Whether a text is handed over to be worked on, as after `Translate this:`, and so tells nothing about its sender. */
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
    saidAt: turn.date,
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

/** When to forget a statement: a plan for a day is over after it. */
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

/** Adjectives and nouns that praise or blame, and things that only the moment knows. */
const opinion =
  /\b(?:great|good|amazing|awesome|wonderful|fun|nice|beautiful|lovely|fantastic|incredible|inspiring|cool|terrible|awful|horrible|best(?! friend)|perfect|special|meaningful|important|interesting|exciting|excited|happy|glad|proud|sad|sorry|grateful|thankful|blessed|stoked|thrilled|curious|tired|exhausted|overwhelmed|stressed|nervous|worried|impressed|relieved|ready|busy|fine|okay|hard|easy|tough|crazy|weird|funny|super|pretty|kinda|sorta|literally|totally|such|awhile|blast|joy|journey|vibes?|memories|moment|experience|feeling|feelings|reminder|way|ways|idea|ideas|sense|point|deal|kind|sort|type|issue|issues|problem|problems|trouble|struggle|struggles|difficulty|question|questions|thoughts?|concerns?|doubts?|look|chance|luck|possible|useful|helpful|worth|true|right|wrong|enough|lots?|bunch|tons?|much|less)\b/i;
/** Words that point at something outside of the sentence. */
const pointing =
  /\b(?:it|its|this(?! (?:week|weekend|month|year|morning|afternoon|evening|spring|summer|autumn|fall|winter|semester|term|season|monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march|april|may|june|july|august|september|october|november|december))|that|these|those|them|they|there|here|one|ones|something|anything|someone|everything|everyone|anyone|stuff|things?|you|your|yours|yourself|others|another|same|such|too much|so much|above|below|following|etc|he|she|him|hers|theirs)\b/i;
const someoneElse = /\b(?:his|her|their|himself|herself|themselves)\b/i;
const vagueObject =
  /^(?:(?:the|some|any|no|more|a|an|my|our|both|all|few|little|several|many|new|old|own|different|whole|next|first|last) )*(?:time|fun|way|things?|stuff|lot|bit|day|one|step|steps|break|risk|care|place|part|turn|action|advantage|note|notes|look|decision|decisions|mistakes?|progress|sense|effort|changes?|plans?|goals?|sure|use|room|space|mind|job|work|life|money|energy|focus|control|attention|opportunity|opportunities|conversation|talk|discussion|meeting|project|team|people|folks|guys|kids|task|tasks|code|function|app|system|approach|feature|features|file|error|test|tests|data|results?|answer|response|example|list|version|option|options|value|numbers?|process|method|design|model|story|stories|situation|moment|support|help|advice|information|info|details?|results|event|events|happen|everyone|well|hard|together|around|up|out|on|off|in|back|forward|ahead|away|over|through|down)\b[\s,]*$/i;
const known =
  /^(?:the|a|an)? ?(?:gym|beach|doctor|dentist|park|hospital|museum|cinema|zoo|church|theatre|theater|opera|sauna|pool|library|piano|guitar|violin|cello|drums|flute|saxophone|trumpet|ukulele|bass|harp|accordion|banjo|clarinet|tennis|chess|football|soccer|basketball|volleyball|golf|badminton|hockey|rugby|cricket|yoga|pilates|meat|fish|gluten|dairy|sugar|alcohol|caffeine|coffee|smoking|vegan|vegetarian|baseball|karate|judo|poker|squash)\b/i;

const states = new Set(
  'be have live like love prefer hate dislike enjoy own use speak work play drive study teach drink eat smoke wear marry lead run'.split(
    ' ',
  ),
);
const light = new Set(
  'make take get give do go come keep find put set hold begin bring break stand sit see lose start change offer reach become hit pick create feel spend fall show try hang pass pay leave add grow improve support contain include push set share join enter'.split(
    ' ',
  ),
);

/** Complements of `am`: what one is for some time, not how one feels. */
const lasting =
  /^(?:(?:a |an )?(?:strict |lifelong |lacto-|ovo-|committed )*(?:vegan|vegetarian|pescatarian|flexitarian)|allergic to|intolerant|lactose|gluten|coeliac|celiac|diabetic|asthmatic|married|single|divorced|engaged|widowed|separated|pregnant|retired|self-employed|unemployed|left-handed|right-handed|colou?r-?blind|dyslexic|fluent in|based in|originally from|afraid of|scared of|responsible for|in charge of|on (?:chapter|page|level|episode|week|day|version|season|parental leave|maternity leave|paternity leave|sabbatical|vacation|holiday|leave|antibiotics|medication)|due|at version|up to|down to|at \d|in my|\d|(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|nineteen|eighteen)|pre-?approved|named|called|a member|interested in|into |[€$£])/iu;
const illness =
  /^(?:\p{L}+ )?(?:asthma|diabetes|adhd|epilepsy|arthritis|migraines?|insomnia|hay fever|eczema|psoriasis|tinnitus|dyslexia|anaemia|anemia|hypertension|celiac disease|coeliac disease|autism|scoliosis)\b/iu;
const noun = /^(?:an?|the|my|our|one of|two|three|four|five|six|\d+) /i;

/** Verbs of weak meaning that tell something with a number or a rhythm. */
const measured =
  /^(?:allow|handle|process|serve|need|call|try|see|add|gain|exercise|sleep|follow|solve|fill|type|borrow|draft|accumulate|collaborate|contribute|test|research|meet|call|shop|talk|track|fit|cover|answer|sort|read|configure|debug)$/;

/** Whether a statement stands by itself, is about something lasting or dated, and says more than how it was. */
/** `the language`: nobody knows which. */
const bareThing = /^the \p{Ll}+$/u;
/** Verbs for what a firm does, and not everyone who says `we` of it. */
const ofMany = /^(?:close|open|serve|offer|ship|stock)$/;
/** `starts on 1 June`: nobody knows what. */
const bareStart = /^(?:on|in|at|by|next|this)\b [\p{L}\d ,:]{2,20}$/u;

function isFact(
  { predicate, about, text, subject, opening, isPlural }: Statement,
  { dated, hasSlot, nobody }: { dated: boolean; hasSlot: boolean; nobody: boolean },
): boolean {
  const { base, rest, tense, negated, ended } = predicate;
  if (!(tells(base) || (hasSlot && measured.test(base))) || (about === 'thing' && !hasSlot)) return false;
  const spoken = rest.replace(relative, 'Somebody');
  if (
    pointing.test(rest.replace(/(?<=\p{L} )that (?=\p{Ll}+s\b)/gu, '')) ||
    opinion.test(withoutNames(rest)) ||
    /["“”`<>{}[\]\\|=]|https?:|\*\*/.test(text)
  )
    return false;
  if (someoneElse.test(rest) && about === 'speaker' && spoken === rest) return false;
  if (text.length > 240 || (/[^.]\.{2,}|\.\s+\S/.test(rest) && !/\b(?:Dr|St|Mr|Mrs|Ms|Prof)\. /.test(rest)))
    return false;
  if (/[A-Z]{4,} [A-Z]{4,}/.test(text) || /(?:^|\s)(?:and|or|but|the|a|an|of|to|with|for|in|my|as)$/i.test(rest))
    return false;
  if (about !== 'speaker' && opinion.test(subject.replace(/\b(?:personal )?best\b/, ''))) return false;
  if (bareThing.test(rest) && !known.test(rest) && !(ended && about === 'named')) return false;
  if (base === 'be' && tense === 'past' && about !== 'thing' && noun.test(rest) && !roleNoun.test(rest) && !dated)
    return false;
  if (isPlural && ofMany.test(base)) return false;
  if (/^(?:start|begin|finish|end|stop)$/.test(base) && bareStart.test(rest) && about === 'speaker' && !hasSlot)
    return false;
  if (hasSlot) return !(about === 'thing' && nobody);
  if (about === 'thing' && nobody) return false;
  if (
    negated &&
    !ended &&
    !((tense === 'present' && states.has(base)) || (tense === 'perfect' && /^to \p{Lu}/u.test(rest)))
  )
    return false;
  return saysEnough({ opening, negated, ended, nobody, base, rest: rest.trim(), tense, dated, about });
}

/** Activities that need no object. */
const activity = /^(?:drive|run|walk|swim|cycle|sing|dance|fly|ski|drink|work)$/;

interface Said {
  ended: boolean;
  opening: string;
  negated: boolean;
  nobody: boolean;
  base: string;
  rest: string;
  tense: Statement['predicate']['tense'];
  dated: boolean;
  about: Statement['about'];
}

function saysEnough(said: Said): boolean {
  const { base, rest, tense, dated, about } = said;
  if (tense === 'duty') return dated && words(rest) >= 2;
  if (tense === 'ability')
    return /^(?:speak|play|sing|swim|ski|drive|cook|knit|sew|read|write)$/.test(base) && rest !== '';
  if (base === 'be') return tense !== 'wish' && saysWhatIs(said);
  const stopped = said.ended && tense === 'present' && about !== 'thing';
  if (rest === '' || vagueObject.test(rest)) return /^(?:retire|smoke)$/.test(base) || (stopped && activity.test(base));
  if (stopped) return true;
  if (tense === 'wish') return !light.has(base) && words(rest) >= 2 && noun.test(rest);
  if (tense === 'passive' || tense === 'past passive')
    return about !== 'speaker' ? words(rest) >= 2 : dated || /^(?:promote|hire|admit|accept|elect|award)/.test(base);
  if (states.has(base) && base !== 'have' && tense !== 'past')
    return (
      known.test(rest) ||
      (words(rest) >= 1 && !/^(?:to|with|on|out|up|so|as|like|at all)\b/.test(rest)) ||
      (base === 'work' && /^(?:at|for|as|in|on)\b/.test(rest))
    );
  if (base === 'have') return noun.test(rest) || illness.test(rest) || /^(?:two|three|\d|no |[a-z]+ allerg)/.test(rest);
  if (tense === 'progressive' && !dated)
    return words(rest) >= 2 && !light.has(base) && /\p{Lu}|\d|\b(?:a|an|my)\b/u.test(rest);
  if (tense === 'present' && about === 'speaker' && !light.has(base) && (words(rest) >= 2 || said.opening !== ''))
    return true;
  if (light.has(base)) return hasAnchor(rest, dated) && words(rest) >= 2;
  return hasAnchor(rest, dated) || (noun.test(rest) && words(rest) >= 2);
}

/** `the West Highland Way` is no way; `55 minutes each way` is how far it is. */
function withoutNames(rest: string): string {
  return rest.replace(/\p{Lu}[\p{L}’'-]+|\beach way\b|\bone way\b|\bat the moment\b|\bright now\b/gu, ' ');
}

/** A name, a number or a date holds a statement to the world. */
function hasAnchor(rest: string, dated: boolean): boolean {
  return dated || /\p{Lu}\p{L}|\d/u.test(rest) || known.test(rest.replace(/^(?:to|at|in|from) /, ''));
}

function saysWhatIs({ rest, about, tense, nobody, dated }: Said): boolean {
  if (tense === 'perfect')
    return /^(?:to \p{Lu}|married|vegan|vegetarian|single|divorced|in \p{Lu}|at \p{Lu}|an? )/u.test(rest);
  if (about === 'speaker')
    return lasting.test(rest) || named.test(rest) || (/^(?:an?|the) \p{L}+/u.test(rest) && roleNoun.test(rest));
  if (nobody && !dated)
    return roleNoun.test(rest) || /^(?:from|based|married|retired|allergic|due|scheduled|on version) /.test(rest);
  return lasting.test(rest) || noun.test(rest) || /\d|\p{Lu}/u.test(rest);
}

const named = /^(?:now |originally )?(?:from |in |at |based in |fluent in )?\p{Lu}/u;
const roleNoun =
  /^(?:an?|the|our|my) (?:[\p{L}-]+ ){0,3}(?:\p{L}+(?:er|or|ist|ian|ant|ect|eer|ian|man|woman|ess)|nurse|chef|cook|coach|student|pilot|judge|clerk|artist|mom|mum|dad|mother|father|parent|twin|veteran|freelancer|founder|analyst|lead|ceo|cto|scientist|vet|poet|monk|nun|intern|trainee|apprentice|volunteer|fan|native|citizen|resident|guide|smoker|diabetic|head|member|partner|owner|janitor|mechanic|plumber)\b/iu;

function words(text: string): number {
  return (text.match(/[\p{L}\p{N}][\p{L}\p{N}'’.,/-]*/gu) ?? []).filter(
    (word) => !/^(?:the|a|an|to|in|on|at|of|for|my|with|and)$/i.test(word),
  ).length;
}
