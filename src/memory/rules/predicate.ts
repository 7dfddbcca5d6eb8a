import { baseOf, verbForms, type Form } from './verbs.ts';
import { isAdverb } from './third-person.ts';

export type Tense =
  'present' | 'progressive' | 'perfect' | 'past' | 'plan' | 'wish' | 'ability' | 'duty' | 'passive' | 'past passive';

/** The predicate of a clause. */
export interface Predicate {
  /** Of the verb that carries the meaning. */
  base: string;
  tense: Tense;
  negated: boolean;
  /** It held before and holds no longer. */
  ended: boolean;
  /** It began: `started`, `took up`. */
  began: boolean;
  adverbs: string[];
  /** The text after the verb. */
  rest: string;
}

interface Reading {
  words: readonly string[];
  place: number;
  adverbs: string[];
  negated: boolean;
  ended: boolean;
}

/** Null when the words are no predicate that is understood. */
export function predicateOf(text: string): Predicate | null {
  const reading: Reading = { words: text.split(' '), place: 0, adverbs: [], negated: false, ended: false };
  skipAdverbs(reading);
  const first = wordAt(reading);
  if (/^(?:will|shall|won't)$/.test(first)) return afterModal(reading, 'plan', first === "won't");
  if (/^(?:can|cannot|can't)$/.test(first)) return afterModal(reading, 'ability', first !== 'can');
  if (/^(?:do|does|did|don't|doesn't|didn't)$/.test(first)) return afterDo(reading, first);
  if (/^(?:have|has|haven't|hasn't)$/.test(first)) return afterHave(reading, first);
  if (first === 'had') return afterHad(reading);
  if (/^(?:am|is|are|was|were|isn't|aren't|wasn't|weren't)$/.test(first)) return afterBe(reading, first);
  return mainVerb(reading);
}

function wordAt(reading: Reading, offset = 0): string {
  return (reading.words[reading.place + offset] ?? '').toLowerCase().replace(/(?<![,.!?])[,.!?]+$/, '');
}

function skipAdverbs(reading: Reading): void {
  for (;;) {
    const word = wordAt(reading);
    if (word === 'no' && wordAt(reading, 1) === 'longer') {
      reading.ended = true;
      reading.place += 2;
    } else if (word === 'not' || word === 'never') {
      reading.negated = true;
      reading.place += 1;
    } else if (isAdverb(word) && reading.place < 8) {
      reading.adverbs.push(word);
      reading.place += 1;
    } else return;
  }
}

function made(reading: Reading, base: string, tense: Tense, changes: Partial<Predicate> = {}): Predicate {
  const { adverbs, negated, ended, words } = reading;
  const rest = words.slice(reading.place + 1).join(' ');
  return { base, tense, negated, ended, began: false, adverbs, rest, ...changes };
}

/** The words at the reading's place are what follows the verb already. */
function fromHere(reading: Reading, base: string, tense: Tense): Predicate {
  return made(reading, base, tense, { rest: reading.words.slice(reading.place).join(' ') });
}

/** The verb at the reading's place in one of the forms. */
function verb(reading: Reading, tense: Tense, ...wanted: Form[]): Predicate | null {
  const base = baseOf(wordAt(reading), ...wanted);
  return base === null ? null : made(reading, base, tense);
}

function next(reading: Reading): void {
  reading.place += 1;
  skipAdverbs(reading);
}

function afterModal(reading: Reading, tense: Tense, negated: boolean): Predicate | null {
  reading.negated = negated;
  next(reading);
  if (wordAt(reading) === 'be') {
    next(reading);
    return verb(reading, tense, 'gerund') ?? null;
  }
  const found = verb(reading, tense, 'base');
  if (found === null || tense !== 'ability') return found;
  const ability = reading.negated ? endedByAdverb(found) : found;
  // "Can no longer" means "does not".
  return ability.ended ? { ...ability, tense: 'present' } : ability;
}

function afterDo(reading: Reading, first: string): Predicate | null {
  const tense = first.startsWith('did') ? 'past' : 'present';
  next(reading);
  if (first.includes('n') || reading.negated) {
    reading.negated = true;
    const found = verb(reading, tense, 'base');
    return found && endedByAdverb(found);
  }
  return fromHere(reading, 'do', tense);
}

/** `any more` at the end of what is denied says that it was so before. */
function endedByAdverb(found: Predicate): Predicate {
  if (!/\b(?:any ?more|any ?longer)\b/.test(found.rest)) return found;
  return { ...found, ended: true, negated: false, rest: found.rest.replace(/ ?\b(?:any ?more|any ?longer)\b/, '') };
}

function afterHave(reading: Reading, first: string): Predicate | null {
  if (first.includes("n't")) reading.negated = true;
  next(reading);
  const word = wordAt(reading);
  if (word === 'to') return duty(reading);
  if (word === 'got') {
    if (wordAt(reading, 1) === 'to') return null;
    return made(reading, 'have', 'present');
  }
  if (word === 'been') return afterBeen(reading);
  const stopped = changed(reading, 'perfect');
  if (stopped) return stopped;
  return verb(reading, 'perfect', 'participle') ?? fromHere(reading, 'have', 'present');
}

function afterBeen(reading: Reading): Predicate | null {
  next(reading);
  const going = verb(reading, 'progressive', 'gerund');
  return going ?? verb(reading, 'past passive', 'participle') ?? fromHere(reading, 'be', 'perfect');
}

function afterHad(reading: Reading): Predicate | null {
  next(reading);
  if (wordAt(reading) === 'to') {
    next(reading);
    return verb(reading, 'past', 'base');
  }
  return verb(reading, 'past', 'participle') ?? fromHere(reading, 'have', 'past');
}

function afterBe(reading: Reading, first: string): Predicate | null {
  const isPast = /^was|^were/.test(first);
  if (first.includes("n't")) reading.negated = true;
  next(reading);
  const word = wordAt(reading);
  if (!isPast && word === 'trying' && wordAt(reading, 1) === 'to') {
    reading.place += 1;
    return duty(reading);
  }
  if (/^(?:supposed|about|trying|hoping|wondering|able|unable|likely|sure|meant)$/.test(word)) return null;
  if (!isPast && (word === 'going' || word === 'planning') && wordAt(reading, 1) === 'to') {
    reading.place += 1;
    next(reading);
    return verb(reading, 'plan', 'base');
  }
  const going = verb(reading, isPast ? 'past' : 'progressive', 'gerund');
  if (going) return endedByAdverb(going);
  const passive = /^(?:called|named|married|engaged|retired|divorced|separated|widowed)$/.test(word)
    ? null
    : verb(reading, isPast ? 'past passive' : 'passive', 'participle');
  if (passive && !/^(?:the|an?) /.test(`${word} `)) return passive;
  const be = fromHere(reading, 'be', isPast ? 'past' : 'present');
  return reading.negated ? endedByAdverb(be) : be;
}

/** `have to submit`, `need to submit`. */
function duty(reading: Reading): Predicate | null {
  reading.place += 1;
  skipAdverbs(reading);
  return verb(reading, 'duty', 'base');
}

/** `stopped smoking`, `quit smoking`, `started working`, `used to live`. */
function changed(reading: Reading, tense: Tense): Predicate | null {
  const word = wordAt(reading);
  const following = wordAt(reading, 1);
  if (/^(?:stop|stops|stopped|quit|quits)$/.test(word) || (/^(?:gave|given)$/.test(word) && following === 'up')) {
    const place = reading.place + (following === 'up' ? 2 : 1);
    const base = baseOf((reading.words[place] ?? '').toLowerCase().replace(/(?<![.,!])[.,!]+$/, ''), 'gerund');
    if (base === null) return null;
    reading.place = place;
    return made(reading, base, 'present', { ended: true });
  }
  if (/^(?:started|begun|began|resumed)$/.test(word)) {
    const base = baseOf(following, 'gerund');
    if (base === null) return null;
    reading.place += 1;
    return made(reading, base, tense, { began: true });
  }
  return null;
}

const sameInPast = /^(?:read|put|cut|set|quit|hit|cost|bet|let|beat|upset)$/;

function mainVerb(reading: Reading): Predicate | null {
  const word = wordAt(reading);
  if (word === 'used' && wordAt(reading, 1) === 'to') {
    reading.place += 2;
    const found = verb(reading, 'past', 'base');
    return found && { ...found, ended: true };
  }
  const change = changed(reading, 'past');
  if (change) return change;
  if (/^needs?$/.test(word) && wordAt(reading, 1) === 'to') {
    reading.place += 1;
    return duty(reading);
  }
  if (/^(?:got|gets?)$/.test(word) && /^(?:married|engaged|divorced|separated)$/.test(wordAt(reading, 1)))
    return made(reading, 'get', 'past');
  if (
    /^(?:got|gets?)$/.test(word) &&
    baseOf(wordAt(reading, 1), 'participle') !== null &&
    !/^(?:a|to)$/.test(wordAt(reading, 1))
  ) {
    reading.place += 1;
    return verb(reading, 'past passive', 'participle');
  }
  const wish =
    /^(?:want|wants|plan|plans|intend|intends|decided|hope|hopes)$/.test(word) && wordAt(reading, 1) === 'to';
  if (wish) {
    reading.place += 2;
    skipAdverbs(reading);
    return verb(reading, /^(?:plan|intend|decide)/.test(word) ? 'plan' : 'wish', 'base');
  }
  const known = verbForms(word);
  const past = known.find(({ forms }) => forms.has('past'));
  if (past && !(sameInPast.test(word) && reading.adverbs.some((one) => /^(?:always|usually|often|mostly)$/.test(one))))
    return made(reading, past.base, 'past');
  return verb(reading, 'present', 'base', 'third');
}
