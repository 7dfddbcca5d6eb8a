import { present } from '../../base/collections.ts';
import type { AddressObject, HeaderLines, ParsedMail } from 'mailparser';
import { MemorydError } from '../../base/errors.ts';
import { failed, type Extracted, type ReadMember, type Source } from './extracted.ts';
import { htmlText } from './html.ts';
import { isoDate } from './plain.ts';

type Mail = Omit<Extracted, 'type'>;

const maxAttachments = 50;

/** A mail, whatever file it was in. */
export interface MailContent {
  subject: string | null;
  /** Addresses with names, separated by commas. */
  from: string;
  to: string;
  cc: string;
  /** ISO 8601. */
  date?: string;
  body: string;
  attachments: readonly Attachment[];
}

interface Attachment {
  /** For people. */
  label: string;
  filename?: string;
  contentType?: string;
  content: Uint8Array;
}

/** Any mail has one of them. */
const mailHeaders = new Set(['from', 'to', 'cc', 'date', 'subject', 'received', 'message-id', 'mime-version']);

/**
 * A mail (RFC 5322): its headers, its body (the plain text when there is one), and the attachments that hold text.
 * Throws `extract_failed` when it is none.
 */
export async function emailText(source: Source & { bytes: Uint8Array }, readMember: ReadMember): Promise<Mail> {
  const mail = await parse(source.bytes);
  if (!mail.headerLines.some(({ key }) => mailHeaders.has(key)))
    throw failed('The file says it is a mail, but its content is something else.');
  const date = dateOf(mail.headerLines);
  // Pictures in the body are no attachments to the reader.
  const attachments = mail.attachments.filter((each) => !each.related || each.contentDisposition === 'attachment');
  const content: MailContent = {
    subject: mail.subject?.trim() || null,
    from: addresses(mail.from),
    to: addresses(mail.to),
    cc: addresses(mail.cc),
    ...present({ date }),
    body: await bodyText(mail),
    attachments: attachments.map(({ filename, contentType, content: bytes }) => ({
      label: filename ?? (contentType === 'message/rfc822' ? 'mail' : contentType),
      ...present({ filename }),
      ...{ contentType, content: bytes },
    })),
  };
  return mailText(content, source, readMember);
}

/** A mail as Markdown. Of one that is attached to another the attachments are left out. */
export async function mailText(
  mail: MailContent,
  { depth, maxTextBytes }: Source,
  readMember: ReadMember,
): Promise<Mail> {
  const { subject, from, to, cc, date } = mail;
  const attached =
    depth === 0 ? await readAttachments(mail.attachments, maxTextBytes, readMember) : { texts: [], degraded: [] };
  const heading = subject === null ? '' : `# ${subject}`;
  const text = [heading, headerLines(mail), mail.body, ...attached.texts].filter(Boolean).join('\n\n');
  const metadata = { from, to, cc, ...(date && { date }) };
  return { text, format: 'markdown', title: subject, metadata, degraded: attached.degraded };
}

async function parse(bytes: Uint8Array): Promise<ParsedMail> {
  const { simpleParser } = await import('mailparser');
  return simpleParser(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), {
    keepCidLinks: true,
    skipHtmlToText: true,
    skipTextToHtml: true,
    skipTextLinks: true,
    skipImageLinks: true,
  });
}

function addresses(field: AddressObject | AddressObject[] | undefined): string {
  return [field ?? []]
    .flat()
    .map((each) => each.text.replaceAll('"', ''))
    .filter(Boolean)
    .join(', ');
}

/** From the raw header: the parser puts the present time for a date that it cannot read. */
function dateOf(lines: HeaderLines): string | undefined {
  const line = lines.find((each) => each.key === 'date')?.line;
  return line === undefined ? undefined : isoDate(line.replace(/^date:\s*/i, ''));
}

function headerLines({ from, to, cc, date }: MailContent): string {
  const fields = Object.entries({ From: from, To: to, Cc: cc, Date: date });
  return fields.flatMap(([name, value]) => (value ? [`${name}: ${value}`] : [])).join('\n');
}

async function bodyText(mail: ParsedMail): Promise<string> {
  if (mail.text?.trim()) return mail.text.trim();
  return mail.html ? (await htmlText(mail.html, {})).text : '';
}

async function readAttachments(
  attachments: readonly Attachment[],
  maxTextBytes: number,
  readMember: ReadMember,
): Promise<{ texts: string[]; degraded: string[] }> {
  const texts: string[] = [];
  const degraded: string[] = [];
  for (const attachment of attachments.slice(0, maxAttachments)) {
    const found = await readAttachment(attachment, maxTextBytes, readMember);
    if (found.text !== undefined) texts.push(`## Attachment: ${attachment.label}\n\n${found.text}`);
    if (found.problem !== undefined) degraded.push(`Attachment ${attachment.label}: ${found.problem}`);
  }
  if (attachments.length > maxAttachments)
    degraded.push(`Only the first ${maxAttachments} of ${attachments.length} attachments were read.`);
  return { texts, degraded };
}

async function readAttachment(
  { content: bytes, contentType: mimeType, filename: name }: Attachment,
  maxTextBytes: number,
  readMember: ReadMember,
): Promise<{ text?: string; problem?: string }> {
  try {
    return { text: await readMember({ bytes, mimeType, name, maxTextBytes, depth: 1 }) };
  } catch (error) {
    if (MemorydError.is(error)) return { problem: error.message };
    throw error;
  }
}
