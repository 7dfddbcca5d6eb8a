const empty = new Set(
  `the a an s my our his her their its of for in on at to from with by and or as per is are was were be been am has have had now new old current currently so far total
  already just also only about around over under roughly approximately nearly almost exactly up down out more than every each this that these those
  some any own got get there here already different main whole really still yet again instead back own using use via into recently total altogether
  i we me us it you he she they who which`.split(/\s+/),
);
/** Words that mean the same in what is counted and measured. */
const alike: Record<string, string> = {
  completed: 'finish',
  complete: 'finish',
  completing: 'finish',
  finished: 'finish',
  done: 'finish',
  finishing: 'finish',
  bought: 'buy',
  purchased: 'buy',
  purchase: 'buy',
  read: 'read',
  wrote: 'write',
  written: 'write',
  seen: 'watch',
  watched: 'watch',
  attempted: 'try',
  tried: 'try',
  visited: 'visit',
  attended: 'attend',
  ran: 'run',
  application: 'app',
  apps: 'app',
  calls: 'request',
  call: 'request',
  requests: 'request',
  daily: 'day',
  monthly: 'month',
  weekly: 'week',
  hourly: 'hour',
  yearly: 'year',
  favourite: 'favorite',
  people: 'person',
  children: 'child',
  kids: 'child',
  kid: 'child',
  wives: 'wife',
  mice: 'mouse',
  feet: 'foot',
};

/**
 * Reduces a phrase to one key, however it is worded: content words in the singular, sorted. Names keep their
 * capital, so that they can be told from words that only describe.
 */
export function keyWords(phrase: string): string {
  const found = new Set<string>();
  for (const [word] of phrase.matchAll(/[\p{L}\p{N}][\p{L}\p{N}.+#_-]*/gu)) {
    const lower = word.toLowerCase();
    if (empty.has(lower)) continue;
    const isName = /^\p{Lu}/u.test(word) && alike[lower] === undefined;
    found.add(
      isName ? word.replace(/(?<![.-])[.-]+$/, '') : (alike[lower] ?? singular(lower.replace(/(?<![.-])[.-]+$/, ''))),
    );
    if (found.size === 12) break;
  }
  return [...found].sort().join(' ');
}

/**
 * The same of a thing with its circumstances: `bugs in the parser` is `bug ~parser`. What a thing is called has to
 * be the same for it to be the same thing; circumstances may be left out.
 */
export function thingWords(phrase: string): string {
  const found = / (?:in|on|for|at|with|from|by|since|during|across|to|through) /.exec(` ${phrase.trim()} `);
  const place = found === null || found.index < 2 ? phrase.length : found.index - 1;
  const thing = keyWords(phrase.trim().slice(0, place));
  const around = keyWords(phrase.trim().slice(place));
  if (thing === '') return around;
  const seen = new Set(thing.split(' '));
  const circumstances = around.split(' ').filter((word) => word !== '' && !seen.has(word));
  return [thing, ...circumstances.map((word) => `~${word}`)].join(' ');
}

function singular(word: string): string {
  if (word.length < 4 || /(?:ss|us|is|news)$/.test(word)) return word;
  if (/[^aeiou]ies$/.test(word)) return `${word.slice(0, -3)}y`;
  if (/(?:sh|ch|x|ss|z)es$/.test(word)) return word.slice(0, -2);
  return word.endsWith('s') ? word.slice(0, -1) : word;
}

/** Values are equal whatever their case, articles and words of time. */
export function normalValue(value: string): string {
  return value
    .toLowerCase()
    .replace(/(?<!\s)\s*\((?:week of )?\d{4}[\d-]*\)/g, '')
    .replace(/[,;:!?"“”]+|\.(?!\d)/g, ' ')
    .replace(/^\s*(?:the|an?|my|our|his|her|their) /, '')
    .replace(
      / (?:now|anymore|any more|instead|as of today|these days|again|since .{0,40}|last (?:week|month|year)|yesterday|today|recently|already|too|as well)$/,
      '',
    )
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, 200);
}
