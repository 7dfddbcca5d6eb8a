/** A mail's own words: what it quotes, forwards and carries below its signature belongs to somebody else or to nobody. */
export interface Mail {
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
export function mailOf(text: string): Mail | null {
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
