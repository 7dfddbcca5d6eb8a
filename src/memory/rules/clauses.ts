import { baseOf } from './verbs.ts';
import { expanded, isAdverb } from './third-person.ts';

const leadIn =
  /^(?:(?:well|so(?! far)|oh|ah|also|and|but|anyway|anyways|actually|by the way|btw|fyi|note that|remember(?: that)?|remind me that|please (?:remember|note)(?: that)?|i was wrong|correction|in fact|to be honest|honestly|just so you know|(?:quick |small )?update|ok|okay|yes|no|yeah|yep|hey|hi|hello|sorry|for the record|i mean|plus|oh,? and|in other news|good news|great news|big news|guess what|as i (?:said|mentioned)(?: before| earlier)?|as you know|for context|turns out(?: that)?|it turns out(?: that)?|i (?:just )?(?:wanted|want) to (?:let you know|mention|add|share|say)(?: that)?|i should (?:mention|add|say)(?: that)?|i forgot to (?:mention|say|tell you)(?: that)?|did i (?:mention|tell you)(?: that)?|have i told you(?: that)?|i(?:'m| am) (?:happy|glad|excited|pleased|proud|sad|sorry) to (?:say|report|share|announce)(?: that)?|i can(?:'t| not) believe (?:that )?(?=i )|happy to (?:say|report)(?: that)?|speaking of (?:which|that)|these days|nowadays|now|just|luckily|unfortunately|sadly|fortunately|finally|thankfully|since then|quick one|quick question|hopefully not|hi [A-Z][a-z]+|hey [A-Z][a-z]+|hello [A-Z][a-z]+|thanks(?: [A-Z][a-z]+)?|thank you)(?:[,.:;!—–-]+\s+|\s+(?=(?:[Ii]|[Ww]e|[Mm]y|[Oo]ur)\b|that\b))(?:that )?)+/i;
/** Words that begin a question or a request after a statement. */
const asking =
  /^(?:and |so |but |or )?(?:can|could|would|will|do|does|did|is|are|any|what|what's|which|how|where|when|why|who|should|shall|may|please|have you|got any|is there|are there|let me know|i was wondering|i'm wondering|i am wondering|wondering|was wondering|i wonder|i'd (?:like|love|appreciate)|i would (?:like|love|appreciate)|i need (?:some |your |a bit of )?(?:help|advice|tips|ideas|suggestions|recommendations|to know)|i'm (?:looking|hoping|trying|curious|not sure|unsure)|i am (?:looking for|hoping|trying|curious|not sure|unsure)|looking for|help me|tell me|give me|show me|suggest|recommend|quiz|write|draft|update|adjust|change|remind|explain|make|adapt|rewrite|redo|delete|motivate|ask|list|you know|right|isn't|don't you|won't|wouldn't|hopefully|need|want|thoughts|or)\b/i;
const boundary =
  /;\s+|(?<!\s)\s+[-–—]+\s+|—|:\s+(?=(?:I|we|my|our|the)\b)|(?<!\s)\s*\((?=(?:i|we|which|so|and|but)\b)|,?\s(?:and|but|so|although|though|yet|plus|or)\s(?=(?:also |now |then )?(?:i|i'm|we|he|she|they|it|it's|my|our|his|her|their|the|this|that|there|you|your|these|can|could|would|what|what's|how|which|where|is|are|do|does|any|was wondering|wondering|need|want)\b)|,\s(?=(?:i|we|my|our|he|she|they|it|it's|you|your|which|who|where|so|what|what's|how|why|when|can|could|would|will|do|does|did|is|are|any|should|please|thanks|let|right|isn't|don't|wasn't|and|but|then|because|as|since|while|thinking|hoping|looking|making|wondering|given|especially|even|although|though|quiz|tell|give|show|help|suggest|recommend|write|draft|update|adjust|change|remind|explain|make|adapt|rewrite|redo|delete|motivate|ask|list)\b)|\s(?=(?:because|even though|although|whereas|so that)\s)|\s(?=since (?:i|we|my|it|he|she|they)\b)/i;

const hypothetical =
  /\b(?:if|unless|whether|suppose|supposing|assuming|imagine|pretend|would|wouldn't|could have|should have|might|may (?:be|have|not|need|want)|maybe|perhaps|probably|possibly|wish|hypothetically|i'd|we'd|as though|kidding|joke|joking|not sure|apparently|supposedly|rumou?rs?|allegedly)\b/i;
/** A clause that holds only at a time or under a condition takes the next one with it. */
const conditional =
  /^(?:when|whenever|once|as soon as|before|after|while|until|every time|the moment|by the time|if|unless|in case|although|though|even though|whereas|instead of|rather than|without)\b/i;
/** `After talking to the bank, I …`: how it came about. */
const circumstance = /^(?:after|by) [a-z]+ing [^,]{2,60}?,? (?=(?:I|we|my|our|the average)\b)/i;
const given = /^(?:since|because|given that|now that|considering(?: that)?|seeing that|as)\s+(?=(?:I|we|my|our)\b)/i;

/** `My son Emil, who is six, plays chess` tells two things of one. */
const aside =
  /^(?<who>(?:My|Our) [^,]{2,40}|\p{Lu}[\p{L}’'-]+(?: \p{Lu}[\p{L}’'-]+)?), who (?<said>(?:is|has|works|lives|was) [^,]{2,60}), (?<rest>(?!and\b|but\b|or\b).+)$/su;

export interface Clause {
  text: string;
  /** Where it begins in the sentence, about. */
  start: number;
}

/**
 * Splits a sentence into statements that stand by themselves; requests and suppositions, and
 * what depends on that are left out.
 */
export function clausesOf(sentence: string): Clause[] {
  const told = aside.exec(sentence)?.groups;
  if (!told) return simpleClausesOf(sentence);
  const [who, said, rest] = [told['who']!, told['said']!, told['rest']!];
  const start = sentence.length - rest.length;
  return [
    ...simpleClausesOf(`${who} ${said}.`),
    ...simpleClausesOf(`${who} ${rest}`).map((clause) => ({ ...clause, start: clause.start + start })),
  ];
}

function simpleClausesOf(sentence: string): Clause[] {
  const isQuestion = /\?\s*["”')*]*$/.test(sentence);
  const bare = expanded(sentence)
    .replace(/(?<![.!?…\s"”*])[.!?…\s"”*]+$/, '')
    .replace(
      /,? (?:by the way|btw|though|too|as well|actually|you know|haha+|lol|please|thanks|of course|it turns out)$/i,
      '',
    );
  const lead = leadIn.exec(bare)?.[0] ?? '';
  const way = circumstance.exec(bare.slice(lead.length))?.[0] ?? '';
  const pieces = piecesOf(bare.slice(lead.length + way.length), lead.length + way.length);
  const kept: Clause[] = [];
  for (const [place, piece] of pieces.entries()) {
    if (asking.test(piece.text) && !(place === 0 && piece.text.startsWith('I am trying to '))) break;
    const isLast = place === pieces.length - 1;
    if (
      (isLast && isQuestion && !saysAlready(sentence)) ||
      conditional.test(piece.text) ||
      hypothetical.test(piece.text)
    ) {
      if (hypothetical.test(piece.text) || conditional.test(piece.text)) return [];
      break;
    }
    const text = piece.text.replace(given, '').replace(leadIn, '');
    kept.push(...byName({ text: capital(text), start: piece.start }));
  }
  return kept;
}

/** `Did I tell you that I moved?` tells it. */
function saysAlready(sentence: string): boolean {
  return /^(?:oh,? )?(?:did i (?:mention|tell you)|have i told you)\b/i.test(sentence);
}

function piecesOf(text: string, offset: number): Clause[] {
  const pieces: Clause[] = [];
  let rest = text;
  let start = offset;
  for (let count = 0; count < 12; count += 1) {
    const found = boundary.exec(rest);
    if (!found) break;
    pieces.push({ text: rest.slice(0, found.index), start });
    start += found.index + found[0].length;
    rest = rest.slice(found.index + found[0].length);
  }
  pieces.push({ text: rest, start });
  return pieces
    .filter((piece) => !/^(?:and |but )?then\b/i.test(piece.text))
    .map((piece) => ({
      ...piece,
      text: piece.text
        .replace(/^(?:and|but|so|then|plus|also)\s+/i, '')
        .replace(/(?<![,\s])[,\s]+$/, '')
        .trim(),
    }))
    .filter(({ text: said }) => said !== '');
}

/** `Emil turned seven and Tomas no longer eats fish` are two statements about two people. */
const anotherName = /,? (?:and|but|while) (?=\p{Lu}[\p{L}’'-]+ (?:no longer |now |also |still )?(?<verb>\p{Ll}+))/gu;
/** An opinion of both. */
const impression = /\b(?:think|thought|believe|hope|guess|know|see|saw|watch|watched|hear|heard|like|love|hate)s?\b/;

function byName(clause: Clause): Clause[] {
  for (const match of clause.text.matchAll(anotherName)) {
    const head = clause.text.slice(0, match.index);
    const verb = match.groups!['verb']!;
    const isClause = /^(?:is|was|has|had|will)$/.test(verb) || baseOf(verb, 'third', 'past') !== null;
    if (!isClause || impression.test(head) || subjectBefore(head) === null) continue;
    const start = match.index + match[0].length;
    return [
      ...coordinated({ ...clause, text: head }),
      ...byName({ text: clause.text.slice(start), start: clause.start + start }),
    ];
  }
  return coordinated(clause);
}

/** `I left Siemens and started at Bosch` are two statements about one subject. */
function coordinated(clause: Clause): Clause[] {
  const found =
    /,? (?:and|but|then) (?:then )?(?<adverbs>(?:(?:just|also|now|recently|finally|currently|already|even) )*)(?<verb>[a-z]+) (?=\S)/g;
  const subject = subjectBefore(clause.text);
  if (subject === null) return [clause];
  for (const match of clause.text.matchAll(found)) {
    const lead = carried(subject, match.groups!['verb']!);
    // A match within the subject joins nouns.
    if (lead === null || match.index < lead.length) continue;
    const rest = clause.text.slice(match.index).replace(/^,? (?:and|but|then) (?:then )?/, '');
    const head = { ...clause, text: clause.text.slice(0, match.index) };
    return [head, ...coordinated({ text: `${lead} ${rest}`, start: clause.start + match.index })];
  }
  return [clause];
}

interface Carried {
  subject: string;
  aux: string;
  verb: string;
}

function subjectBefore(text: string): Carried | null {
  const pronoun =
    /^(?<subject>I|We)(?<aux> (?:have|am|are|will|am going to|are going to|was|were))?(?: [a-z]+)??(?: [a-z]+)? (?<verb>[a-z]+)/.exec(
      text,
    )?.groups;
  const words = text.split(' ');
  if (pronoun) {
    const aux = (pronoun['aux'] ?? '').trim();
    const verbs = words.slice(1 + (aux === '' ? 0 : aux.split(' ').length));
    return { subject: pronoun['subject']!, aux, verb: verbs.find((word) => !isAdverb(word)) ?? '' };
  }
  const place = words.findIndex((word, index) => index > 0 && /^(?:has|is|was|will)$/.test(word));
  if (place > 0 && place < 6)
    return { subject: words.slice(0, place).join(' '), aux: words[place]!, verb: words[place + 1] ?? '' };
  const main = words.findIndex((word, index) => index > 0 && index < 6 && baseOf(word, 'third', 'past') !== null);
  return main < 1 ? null : { subject: words.slice(0, main).join(' '), aux: '', verb: words[main]! };
}

/** Subject and auxiliary that a second verb shares with the first; null when it is no verb of the same form. */
function carried({ subject, aux, verb }: Carried, second: string): string | null {
  if (/^(?:have|has)$/.test(aux)) return baseOf(second, 'participle') === null ? null : `${subject} ${aux}`;
  if (/^(?:is|are)$/.test(aux) && !verb.endsWith('ing') && baseOf(second, aux === 'is' ? 'third' : 'base') !== null)
    return subject;
  if (/^(?:am|is|are|was|were)$/.test(aux))
    return baseOf(second, 'gerund') === null || !verb.endsWith('ing') ? null : `${subject} ${aux}`;
  if (/will|going to/.test(aux)) return baseOf(second, 'base') === null ? null : `${subject} ${aux}`;
  if (/^(?:is|are|am|have|has|was|were|had|will)$/.test(second)) return subject;
  const isPast = baseOf(verb, 'past') !== null;
  const form = isPast ? 'past' : /^(?:I|We)$/.test(subject) ? 'base' : 'third';
  return baseOf(second, form) === null ? null : subject;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
