import type { Attribute } from './attribute.ts';
import { thingWords, normalValue } from './key-words.ts';
import { nameOfThing, ofNoSpeaker, ownerOf, ownless } from './measures.ts';
import type { Statement } from './statement.ts';

const moment =
  /\b\d{1,2}(?::\d{2}| ?(?:am|pm|a\.m|p\.m)|st|nd|rd|th)\b|\b\d{1,2}:\d{2} ?(?:am|pm)\b|\b\d{4}-\d{2}|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\b(?:noon|midnight)\b|\b(?:january|february|march|april|may|june|july|august|september|october|november|december)\b|\btomorrow\b/i;
const timed =
  /^(?:be|move|start|begin|happen|take|open|close|launch|ship|schedule|reschedule|postpone|push|plan|set|extend|release|expire|end|change)$/;

/** When something takes place, is due, begins. */
export function scheduled({ about, subject, predicate, speaker }: Statement): Attribute | null {
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
export function dueBy({ predicate, subject }: Statement): Attribute | null {
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
export function repeated({ predicate, subject, about }: Statement): Attribute | null {
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
