import type { MemoryKind } from './extractor.ts';

/** What of a subject a statement says. */
export interface Slot {
  slot: string;
  value: string;
  isStatic: boolean;
  kind: MemoryKind;
  /** It says that the value holds no longer. */
  ends: boolean;
}

interface Rule {
  /** Fixed, or `taste` and `attribute` with what they are about. */
  slot: string;
  pattern: RegExp;
  isStatic?: boolean;
  kind?: MemoryKind;
}

const adverb = '(?:(?:now|currently|also|really|just|recently|always|mostly|usually|only|still) )*';

/** Of statements in the third person, without their subject. The first that fits counts. */
const rules: readonly Rule[] = [
  { slot: 'name', pattern: /^(?:is called|is named) (?<value>\p{Lu}.+)$/u, isStatic: true },
  { slot: 'home', pattern: /^(?:lives?|is living|resides?|is based) (?:in|at) (?<value>.+)$/, isStatic: true },
  {
    slot: 'home',
    pattern:
      /^(?:(?:has |have )?(?:moved|relocated)|moves|relocates) to (?<value>(?!(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|\w+ \d)\p{Lu}.+)$/u,
    isStatic: true,
  },
  { slot: 'employer', pattern: /^(?:works?|is working|worked) (?:at|for) (?<value>\p{Lu}.+)$/u, isStatic: true },
  {
    slot: 'employer',
    pattern:
      /^(?:joined|started (?:working )?(?:at|for)|started a (?:new )?job at|switched jobs? to) (?<value>\p{Lu}.+)$/u,
    isStatic: true,
  },
  { slot: 'role', pattern: /^(?:works?|is working) as (?:an? |the )?(?<value>.+)$/, isStatic: true },
  { slot: 'role', pattern: /^(?:became|was promoted to|got promoted to) (?:an? |the )?(?<value>.+)$/, isStatic: true },
  { slot: 'origin', pattern: /^(?:comes? from|was born in|grew up in) (?<value>.+)$/, isStatic: true },
  {
    slot: 'diet',
    pattern: /^(?:is|went|became|turned) (?:an? )?(?<value>vegan|vegetarian|pescatarian)\b.*$/,
    isStatic: true,
    kind: 'preference',
  },
  { slot: 'partner', pattern: /^(?:is|got) (?:married|engaged) to (?<value>\p{Lu}.+)$/u, isStatic: true },
  {
    slot: 'taste',
    pattern: /^(?:likes?|loves?|enjoys?|prefers?|adores?) (?<value>.+)$/,
    isStatic: true,
    kind: 'preference',
  },
  {
    slot: 'taste',
    pattern: /^(?<against>hates?|dislikes?|avoids?|can(?:not|['’]t) stand|is allergic to) (?<value>.+)$/,
    isStatic: true,
    kind: 'preference',
  },
  { slot: 'drives', pattern: /^(?:drives) (?<value>.+)$/ },
  { slot: 'uses', pattern: /^(?:switched|migrated) (?:from .+? )?to (?<value>.+)$/ },
];

/** Attributes that have one value at a time. */
const attribute =
  /^(?<owner>.+?)['’]s (?<name>(?:favou?rite [\p{L} ]+?)|name|age|address|home address|time ?zone|e-?mail(?: address)?|phone(?: number)?|birthday|job|job title|title|role|employer|manager|boss|partner|wife|husband|girlfriend|boyfriend|deadline|budget|diet|nickname) (?:is|are) (?:now )?(?<value>.+)$/iu;

/** A thing that has a time or place: meetings, deadlines, reviews. */
const schedule =
  /^(?<thing>.+?) (?:is|are|was moved|were moved|has moved|have moved|moved|moves|has been moved|is moving|got moved|is now|are now|takes? place|happens?|starts?|begins?|is due|are due) (?:now )?(?:to|on|at|by|every) (?<value>.*(?:\d|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|noon|midnight|morning|evening|afternoon|january|february|march|april|may|june|july|august|september|october|november|december).*)$/i;

/**
 * The slot of a statement, when it has one. `subject` is what comes first in it; slots of a possessive
 * (`Mira's time zone`) belong to the owner. Answers the subject that the slot belongs to.
 */
export function slotOf(statement: string, subject: string): (Slot & { subject: string }) | null {
  const text = statement.replace(/[.!]+$/, '');
  const owned = attribute.exec(text)?.groups;
  if (owned)
    return {
      subject: owned['owner']!,
      ...plain(`attribute:${normal(attributeName(owned['name']!))}`, owned['value']!, true),
    };
  const scheduled = schedule.exec(text)?.groups;
  const personal = ruleOf(text, subject);
  if (personal) return { subject, ...personal };
  if (!scheduled) return null;
  return { subject: scheduled['thing']!, ...plain('schedule', scheduled['value']!, false) };
}

function attributeName(name: string): string {
  const lower = name.toLowerCase();
  if (/^time ?zone$/.test(lower)) return 'time zone';
  return lower.replace('favourite', 'favorite');
}

function plain(slot: string, value: string, isStatic: boolean): Slot {
  return { slot, value: normal(value), isStatic, kind: slot.includes('favorite') ? 'preference' : 'fact', ends: false };
}

function ruleOf(text: string, subject: string): Slot | null {
  if (!text.startsWith(`${subject} `)) return null;
  const said = predicateOf(text.slice(subject.length + 1));
  for (const { slot, pattern, isStatic = false, kind = 'fact' } of rules) {
    const groups = pattern.exec(said.text)?.groups;
    if (!groups) continue;
    const value = normal(groups['value']!.replace(trailing, ''));
    if (slot !== 'taste') return { slot, value, isStatic, kind, ends: said.negated };
    const likes = (groups['against'] === undefined) !== said.negated;
    return { slot: `taste:${tasteOf(value)}`, value: likes ? 'likes' : 'dislikes', isStatic, kind, ends: false };
  }
  return null;
}

/** What follows an answer is another one, or its circumstances. */
const trailing = /(?:,| (?:and|as|with|where|because|but|since|so|who|which) ).*$/;

/** What is liked, without its conditions: `coffee over tea` and `coffee in the morning` are about coffee. */
function tasteOf(value: string): string {
  return value.replace(/ (?:over|to|than|in|on|at|when|because|for|with|but|,).*$/, '').replace(/^to /, '');
}

/** A predicate in the affirmative, whether it was, and without adverbs. `used to` says that it holds no longer. */
function predicateOf(predicate: string): { text: string; negated: boolean } {
  const lead = new RegExp(`^${adverb}`, 'i');
  const text = predicate.replace(lead, '');
  const ended = /^(?:no longer|used to|stopped|quit) (?<rest>.+)$/.exec(text)?.groups?.['rest'];
  if (ended !== undefined) return { text: finite(ended), negated: true };
  const modern = /^(?:does not|do not|doesn['’]t|don['’]t) (?<rest>.+?)$/.exec(text)?.groups?.['rest'];
  if (modern !== undefined) return { text: finite(modern.replace(/ any ?(?:more|longer)\b.*$/, '')), negated: true };
  const copula = /^(?<be>is|are)(?: not|n['’]t) (?<rest>.+?)(?: any ?(?:more|longer))?$/.exec(text)?.groups;
  if (copula) return { text: `${copula['be']} ${copula['rest']}`, negated: true };
  return { text: text.replace(/^(is|are) (?:now|currently|still) /, '$1 '), negated: false };
}

/** `work at` and `working at` as `works at`. */
function finite(rest: string): string {
  return rest
    .replace(/^(\p{Ll}+?)ing\b/u, '$1')
    .replace(
      /^(live|work|like|love|enjoy|prefer|hate|lik|lov|liv|hat)\b/,
      (verb) => ({ lik: 'like', lov: 'love', liv: 'live', hat: 'hate' })[verb] ?? verb,
    );
}

/** Values are equal whatever their case, articles and words of time. */
function normal(value: string): string {
  return value
    .toLowerCase()
    .replace(/\s*\(\d{4}[\d-]*\)/g, '')
    .replace(/[.,;:!?"“”]+/g, ' ')
    .replace(/^(?:the|an?) /, '')
    .replace(
      / (?:now|anymore|any more|instead|as of today|these days|again|since .*|last (?:week|month|year)|yesterday|today)\b.*$/,
      '',
    )
    .replace(/\s+/g, ' ')
    .trim();
}
