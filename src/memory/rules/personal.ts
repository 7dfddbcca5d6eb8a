import type { Attribute } from './attribute.ts';
import { keyWords, normalValue } from './key-words.ts';
import { kin } from './people.ts';
import type { Statement } from './statement.ts';

/** Somebody who belongs to somebody: `Lena's sister Anna`. */
export const kinSubject = new RegExp(
  String.raw`'s (?:\p{Ll}+ ){0,2}(?:${kin.replaceAll(' ', '|')})(?: \p{Lu}\p{L}+)?$`,
  'u',
);

export function isPerson({ about, subject }: Statement): boolean {
  if (about === 'speaker' || kinSubject.test(subject)) return true;
  return about === 'named' && /^\p{Lu}[\p{L}’'-]+(?: \p{Lu}[\p{L}’'-]+){0,2}$/u.test(subject);
}

type Rule = (statement: Statement, rest: string) => Omit<Attribute, 'subject'> | null;

/** Attributes of people that have one value at a time: home, employer, diet, tools, tastes. */
export function personal(statement: Statement, rest: string): Attribute | null {
  for (const rule of personalRules) {
    const found = rule(statement, rest);
    if (found) return { subject: statement.subject, ...found };
  }
  return null;
}

const proper = String.raw`\p{Lu}[\p{L}\p{N}’'&.-]*(?:,? (?:\p{Lu}[\p{L}\p{N}’'&.-]*|of|de|am|upon|the|and(?= \p{Lu})))*`;
const tail = String.raw`(?=$|[,.;]| (?:with|for|because|and|as|since|last|this|next|on|in|after|before|to|from|about|near|now|again|together|where|when|who|at|full|part|by)\b)`;
const place = new RegExp(
  String.raw`^(?:back |out |over |down |up |here |away )*(?:from .{1,40}? )?(?:to|into) (?:downtown |central |the city of )?(?<value>(?!(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day)${proper})${tail}`,
  'u',
);
const dwelling = new RegExp(
  String.raw`^(?:in)?to an? (?:[\p{L}-]+ ){0,3}(?:apartment|flat|house|studio|place|room|condo|cottage|townhouse|loft) in (?<value>${proper})`,
  'u',
);
const tools =
  /^(?:React|Vue|Angular|Svelte|Vim|Neovim|Emacs|Helix|VS|VSCode|Postgres|PostgreSQL|MySQL|SQLite|MongoDB|Redis|Linux|Windows|Mac|macOS|Ubuntu|Fedora|Debian|Arch|Docker|Kubernetes|AWS|Azure|GCP|Google|Slack|Discord|Teams|Notion|Obsidian|Evernote|Linear|Jira|Trello|Asana|GitHub|GitLab|Bitbucket|TypeScript|JavaScript|Python|Rust|Go|Java|Kotlin|Swift|Flutter|Django|Flask|Rails|Next|Nuxt|Vite|Webpack|Chrome|Firefox|Safari|Brave|Android|iOS|Spotify|Netflix|Gmail|Outlook|Signal|WhatsApp|Telegram|Zoom|Figma|Sketch|Excel|Word|Vercel|Netlify|Heroku|Plan|Phase|Level|Chapter|Version|Stage|Team|Act|Part)\b/;

function present({ predicate }: Statement): boolean {
  return (predicate.tense === 'present' || predicate.tense === 'progressive') && !predicate.negated;
}

function done({ predicate }: Statement): boolean {
  return /^(?:past|perfect)$/.test(predicate.tense) && !predicate.negated && !predicate.ended;
}

const home: Rule = (statement, rest) => {
  const { base, ended } = statement.predicate;
  const lives = base === 'live' && present(statement) ? /^(?:in|at) (?<value>.+)$/.exec(rest) : null;
  const based =
    base === 'be' && present(statement) ? /^(?:now |currently )?based in (?<value>\p{Lu}.+)$/u.exec(rest) : null;
  const at = lives ?? based;
  if (at) return single('home', townIn(at.groups!['value']!), { ends: ended });
  if (
    !/^(?:move|relocate)$/.test(base) ||
    !done(statement) ||
    / for (?:tickets|notes|tasks|everything|hosting|storage|docs)/.test(rest)
  )
    return null;
  const value = (place.exec(rest) ?? dwelling.exec(rest))?.groups?.['value'];
  return value === undefined || tools.test(value) || /\d/.test(value)
    ? null
    : single('home', townIn(value), { revises: true });
};

/** `Porto` of `a small flat in Porto`. */
function townIn(value: string): string {
  const town = new RegExp(String.raw`(?:^|\b(?:in|near|of) )(?<town>${proper})`, 'u').exec(value)?.groups?.['town'];
  return town !== undefined && !/['’]s$/.test(town)
    ? town
    : value.replace(/ (?:with|for|because|and|as|since|after|to|now|together|where)\b.*$/, '');
}

const employer: Rule = (statement, rest) => {
  const { base, ended, began } = statement.predicate;
  const isAt = new RegExp(
    String.raw`^(?:(?:full[- ]time|part[- ]time|remotely|there|again|back) )*(?:as (?:an? |the )?[\p{L} -]{2,40}? )?(?<word>at|for|with) (?<value>${proper})`,
    'u',
  ).exec(rest)?.groups;
  const isFor = isAt?.['word'] !== 'at';
  const isWork = base === 'work' && (present(statement) || began || statement.predicate.tense === 'progressive');
  if (isWork && isAt && (!isFor || (statement.about === 'speaker' && !/^\p{Lu}\p{Ll}+'s\b/u.test(isAt['value']!))))
    return single('employer', isAt['value']!, { ends: ended });
  if (!done(statement)) return null;
  const job = new RegExp(
    String.raw`^(?:an? |my )?(?:new |first )?(?:job|role|position|internship|gig|work) (?:as [\p{L} -]{2,40}? )?(?:at|with) (?<value>${proper})`,
    'u',
  ).exec(rest)?.groups?.['value'];
  if (/^(?:start|begin|get|land|take|accept|have)$/.test(base) && job)
    return single('employer', job, { revises: true });
  const start = new RegExp(String.raw`^at (?<value>${proper})`, 'u').exec(rest)?.groups?.['value'];
  if (base === 'start' && start && !/^(?:by|The)\b/.test(start)) return single('employer', start, { revises: true });
  if (base === 'join') return joined(rest);
  return /^(?:leave|quit)$/.test(base) ? left(rest) : null;
};

function joined(rest: string): ReturnType<Rule> {
  const value = new RegExp(String.raw`^(?<value>${proper}) as (?:an?|the|their|head|chief|lead) `, 'u').exec(rest)
    ?.groups?.['value'];
  return value === undefined ? null : single('employer', value, { revises: true });
}

function left(rest: string): ReturnType<Rule> {
  const found = new RegExp(
    String.raw`^(?:(?:my|the) (?:job|position|role) (?:at|with) )?(?<old>${proper})(?: (?:for|to join|and joined) (?<value>${proper}))?${tail}`,
    'u',
  ).exec(rest)?.groups;
  if (!found) return null;
  if (found['value']) return single('employer', found['value'], { revises: true });
  return single('employer', found['old']!, { ends: true });
}

const role: Rule = (statement, rest) => {
  const { base } = statement.predicate;
  const as =
    /^(?:(?:at|for|in) .{1,40}? )?as (?:an? |the )?(?<value>[\p{L} -]{3,60}?)(?= (?:at|for|in|with|on|and)\b|[,.]|$)/u.exec(
      rest,
    )?.groups?.['value'];
  if (base === 'work' && present(statement) && !statement.predicate.ended && as) return single('role', as);
  const promoted = /^(?:promoted )?to (?<value>\p{L}[\p{L} -]{3,60}?)(?= (?:at|for|in|with|on|and)\b|[,.]|$)/u.exec(
    rest,
  )?.groups?.['value'];
  const isPromotion =
    (base === 'promote' && /passive|past/.test(statement.predicate.tense)) ||
    (base === 'get' && rest.startsWith('promoted '));
  return isPromotion && promoted ? single('role', promoted, { revises: true }) : null;
};

const relationship: Rule = (statement, rest) => {
  const { base } = statement.predicate;
  const partner = new RegExp(String.raw`^(?<up>up with )?(?<name>\p{Lu}[\p{L}’'-]+)`, 'u').exec(rest)?.groups;
  if (partner && base === 'date' && statement.predicate.tense === 'progressive')
    return single('partner', partner['name']!);
  if (partner?.['up'] && base === 'break' && done(statement))
    return single('partner', partner['name']!, { ends: true });
  const state = /^(?<value>married|engaged|divorced|single|widowed|separated)\b/.exec(rest)?.groups?.['value'];
  if (
    state &&
    ((base === 'be' && present(statement)) || (base === 'get' && done(statement))) &&
    !statement.predicate.ended
  )
    return single('marital status', state, { revises: base === 'get' });
  return null;
};

const diet: Rule = (statement, rest) => {
  const { base, ended, began } = statement.predicate;
  const value = /^(?:an? )?(?:strict |lifelong )?(?<value>vegan|vegetarian|pescatarian|flexitarian)\b/.exec(rest)
    ?.groups?.['value'];
  if (
    !value ||
    !((base === 'be' && present(statement)) || (/^(?:become|go|turn)$/.test(base) && done(statement)) || began)
  )
    return null;
  return single('diet', value, { ends: ended, revises: base !== 'be', category: 'preference' });
};

/** Habits, and their end. */
const habit: Rule = (statement, rest) => {
  const { base, ended, tense, negated } = statement.predicate;
  if (
    !/^(?:smoke|drink|eat|play|run|swim|do|drive|cycle|commute|vape|attend|teach|volunteer|take|watch|study|wear|train|practice|practise)$/.test(
      base,
    )
  )
    return null;
  if (tense !== 'present') return null;
  if (/^(?:smoke|vape)$/.test(base))
    return { slot: 'habit:smoke', value: negated ? 'no' : 'yes', ...(ended && { ends: true }) };
  const object = keyWords(
    rest.replace(
      / (?:since|because|after|before|with|at|on|in|every|each|for|twice|once|three times|anymore|any more)\b.*$/,
      '',
    ),
  );
  if (object === '') return null;
  return { slot: `habit:${base} ${object}`, value: negated ? 'no' : 'yes', ...(ended && { ends: true }) };
};

/** Of tools several are in use; `from … to …` says which one goes. */
const tool: Rule = (statement, rest) => {
  const { base, ended, tense } = statement.predicate;
  const found =
    /^(?:over |away |back |(?:the|our|my) [^,]{2,40}? )?(?:from (?<old>.{2,40}?) )?to (?<value>.{2,40}?)(?= (?:for|as|because|since|last|this|after|on|in|about|with|and|when)\b|,|$)/.exec(
      rest,
    )?.groups;
  if (
    /^(?:switch|migrate|change|move)$/.test(base) &&
    done(statement) &&
    found?.['old'] &&
    /^\p{Lu}|\p{L}{3}/u.test(found['value']!) &&
    !/\d{3}|day\b/.test(found['value']!)
  )
    return {
      slot: 'uses',
      value: keyWords(found['value']!).toLowerCase(),
      replaces: keyWords(found['old']).toLowerCase(),
      revises: true,
    };
  const traded =
    /^(?:in )?(?:my |our )?(?:old )?(?<old>.{2,40}?) (?:for|with|by) (?:an? |my |the )?(?:new |used )?(?<value>.{2,40}?)(?= (?:last|this|on|in|because|after)\b|,|$)/.exec(
      rest,
    )?.groups;
  if (/^(?:replace|trade|swap|exchange)$/.test(base) && done(statement) && traded)
    return {
      slot: 'uses',
      value: keyWords(traded['value']!).toLowerCase(),
      replaces: keyWords(traded['old']!).toLowerCase(),
      revises: true,
    };
  if (
    !/^(?:use|drive|own|have|ride|sell|study|play|learn)$/.test(base) ||
    (base !== 'sell' && !/^(?:present|progressive)$/.test(tense)) ||
    (base === 'sell' && !done(statement))
  )
    return null;
  const object =
    /^(?:my |our |an? |the )(?:old |new |used )?(?:\d{4} )?(?<value>\p{Lu}[\p{L}\p{N}-]*(?: [\p{Lu}\d][\p{L}\p{N}-]*){0,3})|^(?<name>\p{Lu}[\p{L}\p{N}-]*(?: [\p{Lu}\d][\p{L}\p{N}-]*){0,3})/u.exec(
      rest,
    )?.groups;
  const plain = /^(?:study|play|learn)$/.test(base)
    ? /^(?:the )?(?<value>\p{L}+)(?= (?:at|in|with|for|on|every)\b|$|,)/u.exec(rest)?.groups?.['value']
    : undefined;
  const value = object?.['value'] ?? object?.['name'] ?? plain;
  if (value === undefined) return null;
  const key = keyWords(value).toLowerCase();
  return { slot: 'uses', value: key, replaces: key, ...((ended || base === 'sell') && { ends: true, revises: true }) };
};

const taste: Rule = (statement, rest) => {
  const { base, negated, ended } = statement.predicate;
  const isAllergy = base === 'be' && rest.startsWith('allergic to ');
  const likes = /^(?:like|love|enjoy|prefer)$/.test(base);
  if (!present(statement) && !(negated && statement.predicate.tense === 'present')) return null;
  if (!likes && !isAllergy && !/^(?:hate|dislike|avoid)$/.test(base)) return null;
  const about = rest
    .replace(/^allergic to /, '')
    .replace(/ (?:over|to|than|in|on|at|when|because|for|with|but|,|since|after|while).*$/, '')
    .replace(/^to /, '');
  const isLiked = likes === !(negated || ended);
  return {
    slot: `${isAllergy ? 'allergy' : 'taste'}:${keyWords(about)}`,
    value: isLiked ? 'likes' : isAllergy ? 'yes' : 'dislikes',
    isStatic: true,
    category: 'preference',
  };
};

const origin: Rule = (statement, rest) => {
  const { base } = statement.predicate;
  const from = /^(?:originally )?from (?<value>\p{Lu}.+)$/u.exec(rest)?.groups?.['value'];
  if (from && (base === 'be' || base === 'come') && statement.predicate.tense === 'present')
    return single('origin', townIn(from));
  const up = /^up in (?<value>\p{Lu}.+)$/u.exec(rest)?.groups?.['value'];
  return up && base === 'grow' ? single('origin', townIn(up)) : null;
};

const personalRules: readonly Rule[] = [
  home,
  employer,
  role,
  relationship,
  diet,
  taste,
  origin,
  tool,
  (statement, rest) =>
    /\d|\b(?:once|twice|times|every|two|three|four|five)\b/.test(rest) ? null : habit(statement, rest),
];

function single(slot: string, value: string, more: Partial<Attribute> = {}): Omit<Attribute, 'subject'> {
  const { ends, ...others } = more;
  return { slot, value: normalValue(value), isStatic: true, ...others, ...(ends && { ends }) };
}
