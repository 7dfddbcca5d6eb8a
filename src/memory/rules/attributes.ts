import type { Attribute } from './attribute.ts';
import { keyWords, normalValue } from './key-words.ts';
import { measureOf, ownerOf, ownless } from './measures.ts';
import { isPerson, kinSubject, personal } from './personal.ts';
import { dueBy, repeated, scheduled } from './schedules.ts';
import type { Statement } from './statement.ts';

/** What a statement answers; null when two statements of its kind can both hold. `undated` is its rest without dates. */
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
