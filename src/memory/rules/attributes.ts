import type { Attribute } from './attribute.ts';
import { keyWords, normalValue, thingWords } from './key-words.ts';
import { measureOf, ownerOf, ownless, nameOfThing, ofNoSpeaker } from './measures.ts';
import { isPerson, kinSubject, personal } from './personal.ts';
import type { Statement } from './statement.ts';

/** The attribute that a statement gives a value; null when two statements of its kind can both hold. `undated` is its rest without dates. */
export function attributeOf(
  statement: Statement,
  undated: string,
  dates: { hasPast: boolean; count: number },
): Attribute | null {
  if (
    /\b(?:when i was|as a (?:kid|child|teenager|student)|back (?:then|in)|at the time|growing up|years ago|formerly|previously|originally)\b/i.test(
      statement.text,
    )
  )
    return null;
  if (statement.predicate.tense === 'wish') return null;
  if (statement.predicate.tense === 'ability') return measureOf(statement, undated, dates.count > 0);
  if (statement.predicate.tense === 'plan') return null;
  if (statement.predicate.tense === 'duty') return dueBy(statement);
  return (
    versioned(statement) ??
    (isPerson(statement) && !dates.hasPast ? personal(statement, undated) : null) ??
    owned(statement) ??
    scheduled(statement) ??
    repeated(statement) ??
    measureOf(statement, undated, dates.count > 0) ??
    placed(statement)
  );
}

const single1 =
  /^(?:(?:favou?rite [\p{L} ]+|name|age|address|home address|time ?zone|e-?mail(?: address)?|phone(?: number)?|birthday|job|job title|title|role|employer|manager|boss|supervisor|advisor|thesis topic|major|dentist|doctor|gp|vet|lawyer|accountant|hairdresser|tutor|trainer|therapist|landlord|gym|bank|car|laptop|phone|computer|editor|shell|browser|commute|hometown|nickname|(?:daily |weekly )?bedtime|blood type|shoe size|native language|mother tongue|goal weight|target weight))$/iu;

/** Attributes that have one value at a time: `my manager is Ana`. */
function owned({ about, subject, predicate }: Statement): Attribute | null {
  if (predicate.base !== 'be' || predicate.tense !== 'present' || predicate.negated || predicate.ended) return null;
  const name = /^.{1,60}?'s (?<name>.{2,60})$/.exec(subject)?.groups?.['name'];
  if (name === undefined || about === 'thing' || !single1.test(name)) return null;
  const lower = name
    .toLowerCase()
    .replace('favourite', 'favorite')
    .replace('timezone', 'time zone')
    .replace(/^current |^new /, '');
  const value = normalValue(predicate.rest.replace(/^(?:(?:now|currently|called|named) )+/, ''));
  return {
    subject: ownerOf(subject),
    slot: `attribute:${lower}`,
    value,
    isStatic: true,
    revises: true,
    ...(lower.startsWith('favorite') && { category: 'preference' }),
  };
}

/** Which version of something is in use. */
function versioned({ predicate, subject, about }: Statement): Attribute | null {
  const { base, rest, tense } = predicate;
  const found =
    /^(?:(?:the|our|my) [^,]{2,40}? )?(?:on |running |at |using |to |from \S+ to )?(?:the )?(?<name>\p{Lu}[\p{L}.-]*(?: \p{Lu}[\p{L}.-]*){0,2})?(?: from \S+)?(?: to)? ?(?:version |v)?(?<version>\d+(?:\.\d+){1,3})\b/u.exec(
      rest,
    )?.groups;
  if (
    !found ||
    !/^(?:be|use|run|upgrade|update|switch|move|migrate|bump|release)$/.test(base) ||
    /^(?:plan|wish)$/.test(tense)
  )
    return null;
  const name = found['name'] ?? (about === 'speaker' ? undefined : ownless(subject));
  const isVersion =
    /\bversion\b|\bv\d/.test(rest) ||
    /\.\d+\./.test(found['version']!) ||
    name?.endsWith('version') === true ||
    /^(?:upgrade|update|run|use)$/.test(base);
  if (name === undefined || !isVersion || predicate.negated) return null;
  const owner = about === 'speaker' || about === 'his' ? ownerOf(subject) : subject;
  return {
    subject: owner,
    slot: `version:${keyWords(name.replace(/'s version$/, ''))}`,
    value: found['version']!,
    revises: base !== 'use',
  };
}

/** Where somebody keeps something, or where his things are. */
function placed({ predicate, subject, about }: Statement): Attribute | null {
  const { base, rest, tense } = predicate;
  if (about === 'speaker' && /^(?:keep|store|put|move|hang)$/.test(base)) {
    const found =
      /^(?:my|our|the) (?<thing>[\p{L}\p{N}' -]{3,60}?) (?:from .{3,40}? )?(?<where>(?:in|under|on|behind|inside|at|above|to|into|next to) (?:the|my|our|a|an) .{3,60})$/u.exec(
        rest,
      )?.groups;
    const isState = tense === 'present' && base !== 'put' && base !== 'move';
    if (!found || (!isState && !/^(?:past|perfect)$/.test(tense))) return null;
    return {
      subject,
      slot: `place:${keyWords(found['thing']!)}`,
      value: normalValue(found['where']!.replace(/^(?:in|into|to) /, '')),
      revises: !isState,
    };
  }
  if (
    about !== 'his' ||
    kinSubject.test(subject) ||
    !(base === 'be' || base === 'hang' || base === 'sit') ||
    !/^(?:present|progressive)$/.test(tense)
  )
    return null;
  const where =
    /^(?:now |hanging |kept |stored )*(?<where>(?:in|under|on|behind|inside|above) (?:the|my|our|a) .{3,60})$/.exec(
      rest,
    )?.groups?.['where'];
  return where === undefined
    ? null
    : {
        subject: ownerOf(subject),
        slot: `place:${keyWords(ownless(subject))}`,
        value: normalValue(where.replace(/^in /, '')),
        revises: /\bnow\b/.test(rest),
      };
}

const moment =
  /\b\d{1,2}(?::\d{2}| ?(?:am|pm|a\.m|p\.m)|st|nd|rd|th)\b|\b\d{1,2}:\d{2} ?(?:am|pm)\b|\b\d{4}-\d{2}|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\b(?:noon|midnight)\b|\b(?:january|february|march|april|may|june|july|august|september|october|november|december)\b|\btomorrow\b/i;
const timed =
  /^(?:be|move|start|begin|happen|take|open|close|launch|ship|schedule|reschedule|postpone|push|plan|set|extend|release|expire|end|change)$/;

/** When something takes place, is due, begins. */
function scheduled({ about, subject, predicate, speaker }: Statement): Attribute | null {
  const { base, rest, tense } = predicate;
  if (predicate.negated || predicate.ended) return null;
  if (about === 'speaker' && base === 'have') return appointment(subject, rest, tense);
  const byOthers =
    about === 'speaker' &&
    /^(?:move|reschedule|postpone|push|extend|change|shift|set|schedule|book)$/.test(base) &&
    /^(?:past|perfect)$/.test(tense);
  const found = byOthers
    ? /^(?<thing>(?:the|my|our) .{3,80}?)(?: from .{2,40}?)?(?: back| forward| out)? (?:to|until|till|for) (?<when>.{2,60})$/.exec(
        rest,
      )?.groups
    : /^(?:place |place on |now |back |forward |scheduled |set |due )*(?<word>to|on|at|by|for|until|from|due)?\s?(?<when>.{2,60})$/.exec(
        rest,
      )?.groups;
  const when = found?.['when'];
  if (when === undefined || !moment.test(when) || (!byOthers && (about === 'speaker' || !timed.test(base))))
    return null;
  if (!byOthers && tense === 'past' && !/^(?:move|change)$/.test(base)) return null;
  if (
    !byOthers &&
    base === 'be' &&
    found!['word'] === undefined &&
    !/^(?:now )?(?:\w+day|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\w* \d|\d{1,2} \w{3}|\d{4}-)/i.test(rest)
  )
    return null;
  const thing = (
    byOthers ? found!['thing']! : about === 'his' ? ownless(subject) : ofNoSpeaker(subject, speaker)
  ).replace(/^(?:the|my|our) /i, '');
  const isDeadline = /\b(?:deadline|due date)\b/.test(thing) || /^(?:now )?due\b/.test(rest);
  const words = thingWords(thing.replace(/\b(?:deadline|due date)\b/, ''));
  const whose = byOthers
    ? (nameOfThing(found!['thing']!) ?? subject)
    : about === 'his'
      ? ownerOf(subject)
      : (nameOfThing(ofNoSpeaker(subject, speaker)) ?? speaker ?? subject);
  const revises =
    byOthers ||
    /^(?:move|reschedule|postpone|push|extend|change)$/.test(base) ||
    /\bnow\b/.test([rest, ...predicate.adverbs].join(' '));
  return words === ''
    ? null
    : { subject: whose, slot: `${isDeadline ? 'deadline' : 'schedule'}:${words}`, value: normalValue(when), revises };
}

/** One of perhaps several: it takes the place of none, until it is moved itself. */
function appointment(subject: string, rest: string, tense: string): Attribute | null {
  const found =
    /^an? (?<thing>(?:[\p{L}-]+ ){0,3}(?:meeting|appointment|call|interview|exam|test|session|flight|class|lesson|presentation|checkup|date|concert|viewing)(?: (?:with|at|for|in|to) .{2,50}?)?) (?:on|at|this|next) (?<when>.{2,60})$/u.exec(
      rest,
    )?.groups;
  if (!found || tense !== 'present' || !moment.test(found['when']!)) return null;
  const value = normalValue(found['when']!);
  return { subject, slot: `schedule:${thingWords(found['thing']!)}`, value, replaces: value };
}

/** `has to submit the essay by 12 April`. */
function dueBy({ predicate, subject }: Statement): Attribute | null {
  const found = /^(?<thing>.{3,80}?) (?:by|before|until|on) (?<when>.{2,60})$/.exec(predicate.rest)?.groups;
  if (!found || !moment.test(found['when']!)) return null;
  const words = thingWords(found['thing']!);
  return words === ''
    ? null
    : {
        subject,
        slot: `deadline:${words}`,
        value: normalValue(found['when']!),
        revises: predicate.adverbs.includes('now'),
      };
}

const often =
  /\b(?:(?:once|twice|(?:one|two|three|four|five|six|seven|\d{1,2}) times) (?:a|per|each|every) (?:day|week|month|year)|every (?:other |second |single )?(?:day|week|month|year|morning|evening|night|weekend|(?:mon|tues|wednes|thurs|fri|satur|sun)day)|(?:on )?(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days(?:,? (?:and )?)?){1,4}|daily|weekly|biweekly|monthly|(?:two|three|four|five|six|\d) days a week)\b/i;
const onDays = /^(?:on )?(?:mon|tues|wednes|thurs|fri|satur|sun)days\b/i;
const clockTime = /\bat (?:around |about )?(?<time>\d{1,2}(?::\d{2})? ?(?:am|pm|a\.m\.|p\.m\.)?|noon|midnight)\b/i;

/** How often or at what time somebody does something. */
function repeated({ predicate, subject, about }: Statement): Attribute | null {
  const { base, tense, negated, ended } = predicate;
  if (
    !(/^(?:present|progressive)$/.test(tense) || predicate.began) ||
    negated ||
    ended ||
    base === 'be' ||
    about === 'thing'
  )
    return null;
  const time = clockTime.exec(predicate.rest)?.groups?.['time'];
  const frequency = time === undefined ? often.exec(predicate.rest)?.[0] : undefined;
  const value = frequency ?? time;
  if (value === undefined || (tense !== 'present' && !frequency)) return null;
  const bare = predicate.rest
    .replace(often, ' ')
    .replace(clockTime, ' ')
    .replace(/,.*$/, '')
    .replace(/ (?:with|because|since|so|before|after|for|from) .*$/, '');
  const kind = frequency ? 'frequency' : 'time';
  const days = frequency
    ? ''
    : (/\b(?:weekdays|weekends|(?:mon|tues|wednes|thurs|fri|satur|sun)days?)\b/i.exec(predicate.rest)?.[0] ?? '');
  const verb = /^(?:go|do|have|take)$/.test(base) ? '' : base;
  const words = thingWords(`${verb} ${bare} ${days}`.toLowerCase());
  const revises = predicate.began || /\b(?:now|instead)\b/.test([predicate.rest, ...predicate.adverbs].join(' '));
  if (words === '') return null;
  // `has yoga on Mondays` and `yoga moved to Fridays` answer one question.
  const isScheduled = base === 'have' && onDays.test(value);
  if (isScheduled)
    return { subject, slot: `schedule:${words}`, value: normalValue(value.replace(/^on /i, '')), revises };
  return { subject, slot: `${kind}:${words}`, value: normalValue(value), revises };
}
