import type { Attribute } from './attribute.ts';
import { thingWords, normalValue } from './key-words.ts';
import { kin } from './people.ts';
import type { Statement } from './statement.ts';

const number = String.raw`\b\d{1,2}:\d{2}(?::\d{2})?\b|\b\d{1,3}-\d{1,3}\b|(?:[$€£]\s?)?\d[\d,.]*\d?(?:[kKM]\b)?(?!\d)(?:\s?%)?|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|a dozen)\b`;
const numbers = new RegExp(number, 'gi');
const share = new RegExp(String.raw`(${number})(?: out)? (?:of|/) (?:the |my |all )?(${number})`, 'i');
const range = new RegExp(
  String.raw`\bfrom (?:about |around )?(?:${number})[^\d]{0,30}? (?=(?:up |down )?to (?:about |around )?(?:${number}))`,
  'i',
);
const units: readonly (readonly [string, RegExp])[] = [
  ['%', /%|\bper ?cent\b|\bpercent\b/i],
  ['money', /[$€£]|\b(?:dollars?|euros?|pounds|usd|eur|gbp|francs|bucks)\b/i],
  [
    'duration',
    /\d\s?(?:ms|s|min|mins|h|hrs?)\b|\b(?:milliseconds?|seconds?|minutes?|hours?|days?|weeks?|months?|years?)\b/i,
  ],
  ['length', /\d\s?(?:km|m|cm|mi|ft)\b|\b(?:kilomet(?:er|re)s?|miles?|met(?:er|re)s?|k)\b/i],
  ['weight', /\d\s?(?:kg|g|lbs?)\b|\b(?:kilos?|kilograms?|pounds? heavy|lbs)\b/i],
  ['storage', /\d\s?(?:KB|MB|GB|TB)\b/i],
  ['clock', /\b\d{1,2}:\d{2}\b/],
];
const changing = new Set(
  'raise increase reduce lower cut drop extend shorten change update set move push bump improve upgrade expand narrow double trim'.split(
    ' ',
  ),
);
const reaching = new Set('reach hit cross pass'.split(' '));
const being = new Set(
  'be rise increase drop fall grow reach hit stand cost weigh last total average change improve go take have contain climb move jump allow offer support handle serve process need reach hit pass cross gain'.split(
    ' ',
  ),
);
const paying = new Set('pay earn spend weigh cost save own run use measure average manage lead supervise'.split(' '));
const isNow =
  /\b(?:now|so far|already|as of|up to|down to|by now|in total|these days|currently|to date|just|finally|recently|instead)\b/i;
const cutAt =
  /,? (?:since|because|after|before|while|when|which|who|that|including|working on|with|thanks to|according to|so far|in total|by using|with the help|to date|right now|at the moment|as of)\b.*$/i;

/** How many, how much, how far: a number and what is counted by it. Null when there are several, or none. */
export function measureOf(statement: Statement, undated: string, hasDate: boolean): Attribute | null {
  const { predicate, about, subject } = statement;
  const cut = undated.replace(cutAt, '').replace(/, .*$/, '');
  const rest = /\band\b.*\d/.test(cut) ? cut : cut.replace(/,? and .*$/, '');
  const isSoFar = /\bso far\b/.test(undated);
  const found = oneNumber(rest);
  if (found === null || predicate.negated || predicate.ended) return null;
  const isLift = /^(?:get|bring)$/.test(predicate.base) && /\b(?:up|down) to\b/.test(rest);
  const isChange =
    (changing.has(predicate.base) || isLift) && /^(?:past|perfect|past passive|passive)$/.test(predicate.tense);
  const revises = isChange || reaching.has(predicate.base) || isNow.test([...predicate.adverbs, undated].join(' '));
  const name =
    about === 'speaker' || isPersonLike(statement)
      ? ofPerson(statement, rest, found, { isChange, hasDate, isSoFar })
      : ofThing(statement, found);
  if (name === null || name.words === '') return null;
  const slot = `number:${name.words === 'age' ? '' : unitOf(found.around)}:${name.words}`;
  return { subject: name.subject ?? subject, slot, value: found.value, revises };
}

interface Found {
  value: string;
  /** The text without the number. */
  without: string;
  /** The number with what stands beside it, where its unit is. */
  around: string;
}

function oneNumber(rest: string): Found | null {
  const text = rest.replace(range, '');
  const part = share.exec(text);
  const shared = part ? text.replace(part[0], ` ${part[1]} `) : text;
  const all = [...shared.matchAll(numbers)].filter(([digits]) => !/^one$/i.test(digits) || /\bone [a-z]+/.test(shared));
  if (all.length !== 1) return null;
  const [digits] = all[0]!;
  const index = all[0]!.index;
  const before = shared[index - 1] ?? ' ';
  const after = shared.slice(index + digits.length);
  if (
    !/[\s(~]/.test(before) ||
    (/^(?:[-/:x]\w|\.\d|[a-zA-Z]+\b)|^ (?:more|other|additional)\b/.test(after) &&
      !/^(?:ms|s|min|mins|h|hrs?|km|m|cm|kg|g|lbs?|KB|MB|GB|TB|percent|k)\b/.test(after))
  )
    return null;
  const unit = /^\s?(?:ms|s|min|mins|h|hrs?|km|m|cm|kg|g|lbs?|KB|MB|GB|TB|%|percent|k)\b|^%/.exec(after)?.[0] ?? '';
  const value = normalValue(
    `${digits}${part ? ` of ${part[2]}` : ''}`.replaceAll(/(?<=\d),(?=\d{3})|[$€£]\s?|\s?%/g, ''),
  );
  return {
    value: wordNumber(value),
    without: `${shared.slice(0, index)} ${after.replace(unit, '')}`,
    around: `${digits}${unit} ${/^\s?[^\s]*/.exec(after.slice(unit.length))?.[0] ?? ''}`,
  };
}

const wordNumbers =
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty'.split(
    ' ',
  );

function wordNumber(value: string): string {
  const place = wordNumbers.indexOf(value);
  return place === -1 ? value : String(place);
}

function unitOf(around: string): string {
  return units.find(([, pattern]) => pattern.test(around))?.[0] ?? '';
}

const kinOwner = new RegExp(String.raw`'s (?:\p{Ll}+ ){0,2}(?:${kin.replaceAll(' ', '|')})(?: \p{Lu}\p{L}+)?$`, 'u');

function isPersonLike({ about, predicate, subject }: Statement): boolean {
  if (kinOwner.test(subject)) return true;
  return about === 'named' && /^(?:own|perfect)$/.test(predicate.tense);
}

interface Named {
  words: string;
  subject?: string | undefined;
}

function ofPerson(
  { predicate, opening }: Statement,
  rest: string,
  found: Found,
  { isChange, hasDate, isSoFar }: { isChange: boolean; hasDate: boolean; isSoFar: boolean },
): Named | null {
  const { base, tense } = predicate;
  if (isChange) return changedThing(found.without, rest);
  const hasWindow = (hasDate || opening !== '') && !isSoFar && !/\bnow\b/.test(rest);
  const unnamed = unitless(found.without);
  if ((tense === 'perfect' || (tense === 'past' && isSoFar)) && !hasWindow)
    return { words: thingWords(`${counts(base) ? '' : base} ${unnamed}`) };
  if (hasWindow) return null;
  if ((base === 'have' || base === 'own') && tense === 'present') return { words: thingWords(unnamed) };
  if (reaching.has(base) && /^(?:past|perfect)$/.test(tense)) return { words: thingWords(unnamed) };
  if (paying.has(base) && tense === 'present') return { words: thingWords(`${base} ${unnamed}`) };
  if (tense === 'ability')
    return /^(?:do|run|hold|lift|swim|type|carry|hike)$/.test(base)
      ? { words: thingWords(`can ${base} ${unnamed}`) }
      : null;
  if (base === 'be' && tense === 'present') return ofBeing(rest, unnamed);
  return null;
}

/** Words that only say that there are so many. */
function counts(base: string): boolean {
  return /^(?:have|own|get|reach|hit|cross|pass|accumulate|gain)$/.test(base);
}

function ofBeing(rest: string, unnamed: string): Named | null {
  if (/^(?:now |already |currently )*(?:on|at|up to|down to|pre-?approved)\b/.test(rest))
    return { words: thingWords(unnamed) };
  const isAge = /^(?:now |already )?(?:\d{1,3}|[a-z]+)(?: years old)?$/.test(rest.trim());
  return isAge ? { words: 'age' } : null;
}

const unitWords =
  /\b(?:per ?cent|percent|dollars?|euros?|pounds|usd|eur|gbp|francs|bucks|milliseconds?|seconds?|minutes?|hours?|kilomet(?:er|re)s?|miles?|met(?:er|re)s?|kilos?|kilograms?|lbs)\b/gi;

function unitless(text: string): string {
  return text.replace(unitWords, ' ');
}

/** `raised the rate limit of Falcon (from 600) to 1200`: what stands before the number. */
function changedThing(without: string, rest: string): Named | null {
  if (/\bby (?:about |around )?[$€£]?\d/.test(rest) || !/\bto\b/.test(rest)) return null;
  const thing = without.replace(/\b(?:from [^,]{0,40}? )?(?:up |down )?to\s{1,3}.*$/, '').trim();
  if (thing === '') return null;
  const name = nameOfThing(thing);
  return { words: thingWords(unitless(thing)), subject: name };
}

function ofThing({ predicate, subject, about, speaker }: Statement, { without }: Found): Named | null {
  const { base, tense } = predicate;
  if (!being.has(base) || /^(?:plan|wish|ability)$/.test(tense)) return null;
  if (tense === 'past' && /^(?:be|have|cost|weigh|take|last|contain|average|total)$/.test(base)) return null;
  const tail = /^(?:have|contain|allow|offer|support|handle|serve|process|need|reach|hit|pass|cross|gain)$/.test(base)
    ? unitless(without)
    : '';
  const verb = /^(?:cost|weigh|take|last)$/.test(base) ? base : '';
  const thing = ownless(ofNoSpeaker(subject, speaker));
  const words = thingWords(`${thing} ${tail} ${verb}`);
  return about === 'his'
    ? { words, subject: ownerOf(subject) }
    : { words, subject: nameOfThing(ofNoSpeaker(subject, speaker)) ?? speaker ?? subject };
}

const owner = new RegExp(
  String.raw`^(?<owner>.{1,60}?(?:'s (?:\p{Ll}+ ){0,2}(?:${kin.replaceAll(' ', '|')})(?: \p{Lu}\p{L}+)?)?)'s `,
  'u',
);

/** `Lena's test coverage` without its owner. */
export function ownless(subject: string): string {
  return subject.replace(owner, '');
}

/** Of `Lena's sister's dog` it is `Lena's sister`, of `Lena's essay's length` it is Lena. */
export function ownerOf(subject: string): string {
  return owner.exec(subject)?.groups?.['owner'] ?? subject;
}

/** `the launch of Lena's app` as Lena says it: `the launch of app`. */
export function ofNoSpeaker(subject: string, speaker: string | null): string {
  return speaker === null || subject.startsWith(`${speaker}'s `) ? subject : subject.replaceAll(`${speaker}'s `, '');
}

/** The name of a thing, to which statements about it belong; undefined: they belong to the speaker. */
export function nameOfThing(phrase: string): string | undefined {
  if (/^(?:my|our)\b/i.test(phrase)) return undefined;
  const names = phrase.replace(/^(?:The|A) /, '').match(/\p{Lu}[\p{L}\p{N}]+(?: \p{Lu}[\p{L}\p{N}]+){0,2}/gu);
  return names?.find((one) => !/^[A-Z]{2,5}s?$/.test(one));
}
