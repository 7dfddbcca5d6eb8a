import type { Turn } from '../extractor.ts';
import { isTranscript } from '../policy.ts';
import { dayNamedBy, dayOrderOf, momentOfStamp, stampPattern, type DayOrder } from './dates.ts';

const roles = ['user', 'assistant', 'system', 'tool'] as const;
type Role = (typeof roles)[number];

/** A message of a stored conversation; only what is read here. */
export interface SaidMessage {
  role: Role;
  text: string;
  name?: string;
}

/** More than stands before a message's words in the text of its conversation: its role, and what joins them. */
const beforeWords = 40;

/** `conversation` is the text that holds the messages in order, each after its role and name. */
export function turnsOfMessages(messages: readonly SaidMessage[], conversation = ''): Turn[] {
  let from = 0;
  return messages.map(({ role, text, name }) => {
    const said = { speaker: name ?? null, role, date: null };
    const words = text.trim();
    const reach = from + beforeWords + (name?.length ?? 0) + words.length;
    const start = words === '' ? -1 : conversation.slice(from, reach).indexOf(words);
    if (start < 0) return { ...said, text, start: null };
    const turn = { ...said, text: words, start: from + start };
    from += start + words.length;
    return turn;
  });
}

/**
 * Splits a text by speakers: the turns of a transcript or chat export, the own words of a mail's author, or
 * the text as one turn of nobody.
 */
export function turnsOfText(text: string): Turn[] {
  const mail = mailOf(text);
  if (mail?.isBulk) return [];
  if (mail) return mail.own.map((piece) => ({ ...piece, speaker: mail.author, role: null, date: mail.date }));
  return transcriptOf(text) ?? [{ speaker: null, role: null, text, start: 0, date: null }];
}

/** The turns of a text that is nothing but a conversation, or one turn of one; they touch, and end with the text. */
export function conversationOf(text: string, isKnown: boolean): Turn[] | null {
  const turns = mailOf(text) ? null : transcriptOf(text);
  return turns && (isKnown || turns.length === 1 || isTranscript(turns)) ? turns : null;
}

/** The turns within turns: a message that holds lines of others, a text that was not split yet. */
export function turnsWithin(turns: readonly Turn[]): Turn[] {
  return turns.flatMap((turn) => {
    if (turn.speaker !== null && turn.role === null && turn.start !== null) return [turn];
    const found = turnsOfText(turn.text);
    return found.map((one) => ({
      ...one,
      speaker: one.speaker ?? (one.role === null || one.role === turn.role ? turn.speaker : null),
      role: one.role ?? (one.speaker === null ? turn.role : null),
      start: one.start === null || turn.start === null ? null : one.start + turn.start,
      date: one.date ?? turn.date,
    }));
  });
}

interface Label {
  /** Where its line begins in the text. */
  index: number;
  /** Where what is said begins. */
  start: number;
  name: string;
  role: Role | null;
  stamp: string | null;
  /** It can only be the line of a chat: a time or `<nick>` stands in it. */
  isCertain: boolean;
}

const personName = String.raw`\p{Lu}[\p{L}\p{M}'’.-]{0,30}(?: (?:[\p{Lu}\p{N}][\p{L}\p{M}\p{N}'’.-]{0,30}|van|von|de|der|da|di)){0,3}`;
const stamped = new RegExp(
  String.raw`^\[?(?<stamp>${stampPattern})\]?(?: [-–—])?:? (?:<[@+ ]?(?<nick>[^<>\s]{1,40})>|(?<name>[^:<>[\]\n]{1,60}):)(?: |$)`,
  'u',
);
const nicked = /^<[@+ ]?(?<nick>[^<>\s]{1,40})> /u;
const named = new RegExp(
  String.raw`^(?:\*\*|__)?(?<name>${personName}|user|assistant|system|tool|ai|human)(?: \((?<detail>[^()\n]{1,60})\))?(?:\*\*|__)?(?:(?: said| says| wrote)?:|(?: said| says),(?= ["“]))(?:\*\*|__)?[ \t]+(?=\S)`,
  'u',
);
const headed = new RegExp(
  String.raw`^(?:\[(?<before>${stampPattern})\] (?<after>[\p{L}\p{N}_.][\p{L}\p{N}_.#' -]{0,39})|(?<name>[\p{L}\p{N}_.][\p{L}\p{N}_.#'’ -]{0,39}?)(?: {1,3}| [-–—] )(?:APP )?[[(]?(?<stamp>${stampPattern})[\])]?)\s*$`,
  'u',
);

/** Words that stand before a colon and name nobody. */
const noName =
  /^(?:note|notes|nota|warning|example|examples|summary|update|updates|todo|tip|tips|from|to|cc|bcc|date|sent|subject|re|fwd|fw|title|author|status|version|name|age|city|country|address|email|phone|role|job|company|location|time|place|question|answer|q|a|step|option|part|chapter|section|figure|table|source|sources|link|links|url|see|also|remember|important|attention|caution|info|result|results|output|input|error|usage|default|returns?|params?|type|value|key|ingredients|directions|method|serves|prep|total|price|cost|budget|goal|goals|agenda|attendees|participants|present|topic|topics|decision|decisions|action|actions|action items|next steps|deadline|due|owner|priority|background|context|conclusion|overview|description|details|features|requirements|installation|fix|fixed|feat|bug|issue|ps|p\.s\.|edit|reminder|plan|pros|cons|problem|solution|instruction|instructions|task|day|week|monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march|april|may|june|july|august|september|october|november|december|ceo|hint|license|copyright|profile|interests|hobbies|diet|allergies|preferences|favorites|likes|dislikes|session|conversation|chat|transcript|speaker|speakers|host|guest|guests|when|where|who|what|why|how|yes|no|ok|well|however|first|second|third|finally|today|tomorrow|yesterday|tonight|breakfast|lunch|dinner)(?: \d+)?$/i;

function transcriptOf(text: string): Turn[] | null {
  const { labels, dated, lines } = labelsOf(text);
  if (!isSpoken(text, labels, lines)) return null;
  const order = dayOrderOf(labels.flatMap(({ stamp }) => stamp ?? []));
  return turnsBetween(text, labels, dated, order);
}

/** Of a line, so much is read. */
const longestLine = 240;

interface DatedLine {
  index: number;
  end: number;
  date: Date;
}

function labelsOf(text: string): { labels: Label[]; dated: DatedLine[]; lines: number } {
  const labels: Label[] = [];
  const dated: DatedLine[] = [];
  let lines = 0;
  let inCode = false;
  for (let index = 0; index <= text.length;) {
    const end = text.indexOf('\n', index) === -1 ? text.length : text.indexOf('\n', index);
    const line = text.slice(index, Math.min(end, index + longestLine));
    if (/^\s*(?:```|~~~)/.test(line)) inCode = !inCode;
    const label = inCode ? null : labelOf(line);
    if (label) labels.push({ ...label, index, start: Math.min(label.start + index, end) });
    else if (!inCode && end - index < 80) {
      const day = dayOfHeading(line);
      if (day) dated.push({ index, end, date: day });
    }
    if (line.trim() !== '') lines += 1;
    index = end + 1;
  }
  return { labels, dated, lines };
}

function labelOf(line: string): Label | null {
  const certain = stamped.exec(line) ?? nicked.exec(line);
  const certainName = certain?.groups!['nick'] ?? certain?.groups!['name'];
  if (certain && certainName !== undefined && isName(certainName))
    return labelled(certainName, certain[0].length, certain.groups!['stamp'] ?? null, true);
  const plain = named.exec(line);
  if (plain && isName(plain.groups!['name']!)) return plainLabel(plain);
  const heading = line.length < 100 ? headed.exec(line)?.groups : undefined;
  const name = heading?.['name'] ?? heading?.['after'];
  if (name === undefined || !isName(name) || !/\p{L}/u.test(name)) return null;
  return labelled(name.trim(), line.length + 1, heading!['stamp'] ?? heading!['before'] ?? null, true);
}

function plainLabel(found: RegExpExecArray): Label {
  const { name, detail } = found.groups as { name: string; detail?: string };
  const isStamp = detail !== undefined && new RegExp(`^${stampPattern}$`).test(detail);
  const said = roleOf(name) !== null && detail !== undefined && !isStamp ? detail : name;
  const label = labelled(said, found[0].length, isStamp ? detail : null, isStamp);
  return { ...label, role: roleOf(name) };
}

function labelled(name: string, start: number, stamp: string | null, isCertain: boolean): Label {
  return { index: 0, start, name: name.replace(/#\d{4}$/, '').trim(), role: roleOf(name), stamp, isCertain };
}

/** A heading of a change log is dated as a line of a chat is: `v4.1.3 2017-10-06`. */
const version = /^(?:version |release |v)?\d[\d.]*(?:-[\w.]+)?$/i;

function isName(name: string): boolean {
  return !noName.test(name.trim()) && !version.test(name) && !name.includes('://');
}

function roleOf(name: string): Role | null {
  const lower = name.toLowerCase();
  if (lower === 'ai' || lower === 'chatgpt') return 'assistant';
  if (lower === 'human') return 'user';
  return roles.find((role) => role === lower) ?? null;
}

const firstPerson = /\b(?:I|I['’](?:m|ve|ll|d)|[Mm]y|[Mm]e|[Ww]e|[Oo]ur|you|You)\b/;

/** Of people who talk, so many speak of themselves or to each other; records and headings with colons have hardly any. */
const speakingShare = 0.1;

/** The first line of what is said: what stands below may be the text of a page. */
function lineOf(text: string, { start }: Label): string {
  const end = text.indexOf('\n', start);
  return text.slice(start, Math.min(end === -1 ? text.length : end, start + longestLine));
}

function isSpeaking(text: string, label: Label): boolean {
  return firstPerson.test(lineOf(text, label)) || /\bsaid[:,]/.test(text.slice(label.index, label.start));
}

/** Whether most lines are sentences of somebody: those of records hardly ever are. */
function isDialogue(text: string, labels: readonly Label[], lines: number): boolean {
  const sentences = labels.filter((one) => /[.!?…]["”'’)*_]*\s*$/.test(lineOf(text, one)));
  return labels.length >= lines / 2 && sentences.length >= labels.length / 2;
}

/** One line alone is a turn when somebody speaks in it; several when a name comes again or somebody speaks. */
function isSpoken(text: string, labels: readonly Label[], lines: number): boolean {
  const first = labels[0];
  if (first === undefined) return false;
  if (labels.some(({ role }) => role !== null) && first.index === 0) return true;
  const certain = labels.filter(({ isCertain }) => isCertain).length;
  if (certain >= 2 || (certain === 1 && lines <= 3)) return true;
  if (lines === 1 && first.index === 0) return true;
  const speaks = labels.filter((one) => isSpeaking(text, one)).length >= Math.max(1, labels.length * speakingShare);
  const repeated = new Set(labels.map(({ name }) => name)).size < labels.length;
  const begins = /^(?:\s*(?:#.{0,200}|.{0,80}\d{4}.{0,20})?\n){0,4}$/.test(text.slice(0, Math.min(first.index, 1000)));
  return (begins || repeated) && (speaks || (repeated && isDialogue(text, labels, lines)));
}

/** A line that says only on which day the following was said. */
function dayOfHeading(line: string): Date | null {
  if (!/\d{4}/.test(line)) return null;
  const words = line.replace(
    /^[#*_\s[(=-]{0,8}(?:(?:session|conversation|chat|date|day|time|started|on)\b[ \d]{0,4}[^\p{L}\p{N}]{0,4}){0,3}/iu,
    '',
  );
  return dayNamedBy(words.replace(/(?<![\])*_=#\s-])[\])*_=#\s-]+$/, ''));
}

function turnsBetween(text: string, labels: readonly Label[], dated: readonly DatedLine[], order: DayOrder): Turn[] {
  const turns: Turn[] = [];
  const first = labels[0]!;
  if (first.index > 0 && dated[0]?.index !== 0 && !text.startsWith('#'))
    turns.push({ speaker: null, role: null, text: text.slice(0, first.index), start: 0, date: null });
  let day: Date | null = null;
  let next = 0;
  for (const [place, label] of labels.entries()) {
    for (; next < dated.length && dated[next]!.index < label.index; next += 1) day = dated[next]!.date;
    const until = Math.min(labels[place + 1]?.index ?? text.length, dated[next]?.index ?? text.length);
    const moment: Date | null = label.stamp === null ? day : (momentOfStamp(label.stamp, order, day) ?? day);
    if (label.stamp !== null && moment !== null) day = moment;
    turns.push({
      speaker: label.role !== null && roleOf(label.name) !== null ? null : label.name,
      role: label.role,
      text: text.slice(label.start, Math.max(until, label.start)),
      start: label.start,
      date: moment,
    });
  }
  return turns;
}

/** A mail's own words: what it quotes, forwards and carries below its signature belongs to somebody else or to nobody. */
interface Mail {
  author: string | null;
  date: Date | null;
  /** Pieces of the text, in order. */
  own: { start: number; text: string }[];
  /** Sent to many by a program or a firm. */
  isBulk: boolean;
}

const headerLine = /^(?<name>From|To|Cc|Bcc|Date|Sent|Subject|Reply-To|Message-ID):[ \t](?<value>.{0,998})$/i;
const forwardLine =
  /^\s*(?:-{2,}\s?(?:Original Message|Forwarded message|Weitergeleitete Nachricht|Ursprüngliche Nachricht)|Begin forwarded message:|_{20,}\s*$|={20,}\s*$)/i;
const replyLine = /^(?:On|Am|Le) .{4,200}(?:wrote|schrieb|a écrit)\b.{0,120}:\s*$/;
const signOff =
  /^(?:(?:best|kind|warm|many|all the best|with)?\s?(?:regards|wishes|thanks)|best|cheers|thanks(?: again| a lot| so much)?|thank you|yours(?: sincerely| truly| faithfully)?|sincerely|love|greetings|take care|talk soon|see you(?: soon)?|ciao|lg|vg|xo+|warmly|all the best)\b[,.!]?.{0,12}$/i;
const device = /^Sent from my |^Get Outlook for /i;
const disclaimer =
  /\b(?:intended (?:solely )?for the (?:use of the )?(?:individual|addressee|named|recipient)|intended recipient|confidential(?:ity)? (?:notice|and)|privileged|please consider the environment|unsubscribe|view (?:this (?:email|message) )?in (?:your )?browser|all rights reserved)\b/i;
const bulkSender =
  /\b(?:no-?reply|newsletter|notifications?|marketing|news|updates|donotreply|mailer)[@+.]|@(?:news|mail|email|e)\./i;

/** Null when the text is no mail: it begins with the lines of a header, below a title if there is one. */
function mailOf(text: string): Mail | null {
  const header = headerOf(text);
  if (header === null) return null;
  const from = header.fields.get('from') ?? '';
  const body = text.slice(header.end);
  return {
    author: personOf(from),
    date: dateOf(header.fields.get('date') ?? header.fields.get('sent')),
    own: ownWords(body, header.end),
    isBulk: bulkSender.test(from) || /\bunsubscribe\b/i.test(body),
  };
}

function headerOf(text: string): { fields: Map<string, string>; end: number } | null {
  const fields = new Map<string, string>();
  let at = 0;
  for (let lines = 0; lines < 40 && at < text.length; lines += 1) {
    const end = lineEnd(text, at);
    const line = text.slice(at, Math.min(end, at + 1100));
    const found = headerLine.exec(line)?.groups;
    if (found) fields.set(found['name']!.toLowerCase(), found['value']!);
    else if (fields.size > 0 || !(line.trim() === '' || line.startsWith('# '))) break;
    at = end + 1;
  }
  const isHeader = fields.has('from') && fields.size >= 2;
  return isHeader ? { fields, end: Math.min(at, text.length) } : null;
}

function lineEnd(text: string, from: number): number {
  const end = text.indexOf('\n', from);
  return end === -1 ? text.length : end;
}

/** `Lena Vogt` of `Lena Vogt <lena@example.org>`; the address where there is no name. */
function personOf(from: string): string | null {
  const first = from.slice(0, 300).trim();
  const named = /^"?(?<name>[^"<>@]{1,80}?)"?\s*<[^<>]{0,200}>/.exec(first)?.groups?.['name'];
  const name = (named ?? /[^\s<>,]{1,80}@[^\s<>,]{1,120}/.exec(first)?.[0] ?? first).trim();
  const turned = /^(?<family>\p{Lu}[\p{L}'’-]+), (?<given>\p{Lu}[\p{L}'’ -]+)$/u.exec(name)?.groups;
  return turned ? `${turned['given']} ${turned['family']}` : name || null;
}

function dateOf(value: string | undefined): Date | null {
  const date = new Date(value ?? '');
  return Number.isNaN(date.getTime()) ? null : date;
}

function ownWords(body: string, offset: number): Mail['own'] {
  const own: Mail['own'] = [];
  const lines = body.split('\n');
  const hasQuotes = lines.some((line) => line.startsWith('>'));
  let at = offset;
  let open = false;
  for (const [place, line] of lines.entries()) {
    const isReply = introducesReply(lines, place);
    if (endsOwnWords(lines, place) || (isReply && !hasQuotes)) break;
    const isOwn = !line.startsWith('>') && !isReply && !device.test(line) && !disclaimer.test(line.slice(0, 2000));
    if (isOwn && open) own.at(-1)!.text += `\n${line}`;
    else if (isOwn) own.push({ start: at, text: line });
    open = isOwn;
    at += line.length + 1;
  }
  return own.filter((piece) => piece.text.trim() !== '');
}

/** `On … wrote:`, also when the line is broken in two. */
function introducesReply(lines: readonly string[], place: number): boolean {
  const line = lines[place]!.slice(0, 400);
  if (replyLine.test(line)) return true;
  const next = lines[place + 1]?.slice(0, 200) ?? '';
  return /^(?:On|Am|Le) /.test(line) && next !== '' && !/[.!?]$/.test(line) && replyLine.test(`${line} ${next}`);
}

function endsOwnWords(lines: readonly string[], place: number): boolean {
  const line = lines[place]!.slice(0, 400);
  if (/^-- ?$/.test(line) || forwardLine.test(line) || line.startsWith('## Attachment: ')) return true;
  if (
    /^\*?From:\*? /.test(line) &&
    lines.slice(place + 1, place + 5).some((next) => /^\*?(?:Sent|Date|To):\*? /.test(next))
  )
    return true;
  return signOff.test(line.trim()) && isSignature(lines, place + 1);
}

/** A few short lines, and after them nothing or somebody else's words. */
function isSignature(lines: readonly string[], from: number): boolean {
  for (let place = from; place < Math.min(lines.length, from + 10); place += 1) {
    const line = lines[place]!.slice(0, 400);
    if (line.startsWith('>') || /^-- ?$/.test(line) || forwardLine.test(line) || introducesReply(lines, place))
      return true;
    if (line.length > 60 || /[.!?]\s*$/.test(line.trim())) return device.test(line) || disclaimer.test(line);
  }
  return true;
}
