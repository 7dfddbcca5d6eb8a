import type { Reranker } from '../models/reranker.ts';
import { answerWeight, rerankWeight } from './ranking-constants.ts';
import { stretch, type Scored } from './score-candidates.ts';

export interface RerankOptions {
  query: string;
  /** Of the candidates that are scored again, by id. */
  texts: ReadonlyMap<string, string>;
  reranker: Reranker;
  signal?: AbortSignal | undefined;
}

/**
 * Scores those candidates again of which the texts are known: by how close the reranker finds them, and by the signs
 * of an answer that they show, both in parts of the range that their scores have. The others keep their scores. What
 * stands around a turn is not looked at here: it shares in these scores as in those before.
 */
export async function scoreAgain(ranked: readonly Scored[], options: RerankOptions): Promise<Scored[]> {
  const { query, texts, reranker, signal } = options;
  const known = ranked.filter(({ id }) => texts.has(id));
  if (known.length < 2) return [...ranked];
  const closeness = await reranker.score(
    query,
    known.map(({ id }) => texts.get(id)!),
    signal,
  );
  const close = stretch(closeness);
  const scores = known.map(({ score }) => score);
  const [low, high] = [Math.min(...scores), Math.max(...scores)];
  const range = high - low;
  const signs = signsOfAnswer(query);
  const again = new Map(
    known.map(({ id, type, score }, index) => {
      const weight = type === 'text' ? rerankWeight.page : rerankWeight.other;
      const own = (1 - weight) * score + weight * (low + range * close(closeness[index]!));
      return [id, own + answerWeight * range * signs(texts.get(id)!, type)];
    }),
  );
  return ranked.map((one) => ({ ...one, score: again.get(one.id) ?? one.score }));
}

const asksWhen = /\b(?:when|how long ago|(?:what|which) (?:time|day|date|week|month|year|hour))\b/i;
const month =
  '(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)';
const season = '(?:spring|summer|autumn|winter)';
/** Of dates, days, hours and spans, whenever they are, more than the dates that can be told exactly. */
const time = new RegExp(
  [
    String.raw`\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b`,
    String.raw`\b(?:19|20)\d\d\b|\b\d{1,2}(?:st|nd|rd|th)\b|\b${month}\.? \d|\d\.? ${month}\b`,
    String.raw`\b(?:in|since|until|by|of|from|on|early|late|around) ${month}\b|\b${season}\b`,
    String.raw`\b\d{1,2}[:.]\d{2}\b|\b\d{1,2} ?[ap]\.?m\b|\bo['’]clock\b|\b(?:noon|midnight|ago|birthday|christmas|easter|new year)\b`,
    String.raw`\b(?:yesterday|today|tonight|tomorrow|weekends?)\b`,
    String.raw`\b(?:last|next|this|past|every) (?:\p{L}+ )?(?:night|morning|evening|afternoon|week|month|year|fall|semester|term|${month})\b`,
  ].join('|'),
  'iu',
);

const asksAmount =
  /\bhow (?:much|many|old|long|far|often|tall|big|large|high|heavy|expensive|fast|wide|deep)\b|\bwhat (?:\p{L}+ )?(?:price|cost|percentage|number|amount|age|score|distance|rent|salary|temperature|size|rate|budget|share)\b/iu;
const amount =
  /\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\p{L}+teen|(?:twen|thir|for|fif|six|seven|eigh|nine)ty|hundreds?|thousands?|millions?|dozens?|half|once|twice|couple|percent|several|few)\b/iu;

const speaker =
  /^(?:On \d+ \p{L}+ \d{4} )?(?<name>\p{Lu}[\p{L}\p{M}'’.-]{0,30}(?: \p{Lu}[\p{L}\p{M}'’.-]{0,30})?)(?: said)?: /u;

/**
 * How many signs of an answer to the query a text shows, 0 to 2: it tells a time or an amount where one is asked for,
 * and in a conversation it is said by whom the query names, who knows best. English, but for the names.
 */
export function signsOfAnswer(query: string): (text: string, type: Scored['type']) => number {
  const named = new Set(query.toLowerCase().match(/[\p{L}\p{M}]+/gu));
  const tells = whatTells(query);
  return (text, type) => {
    const by = type === 'text' || type === 'fact' ? null : speaker.exec(text);
    const said = by ? text.slice(by[0].length) : text;
    const first = by?.groups!['name']!.split(' ')[0]!.toLowerCase();
    return (tells(said) ? 1 : 0) + (first !== undefined && named.has(first) ? 1 : 0);
  };
}

function whatTells(query: string): (said: string) => boolean {
  if (asksWhen.test(query)) return (said) => time.test(said);
  if (asksAmount.test(query)) return (said) => amount.test(said);
  return () => false;
}
