import type { AddressObject, Attachment, HeaderLines, ParsedMail } from 'mailparser';
import { MemorydError } from '../../base/errors.ts';
import type { Metadata } from '../document.ts';
import { detect } from './detect.ts';
import type { Extracted, Source } from './extracted.ts';
import { htmlText } from './html.ts';
import { fenced } from './json.ts';
import { demoteHeadings, isoDate } from './plain.ts';

type Mail = Omit<Extracted, 'type'>;
/** Reads an attachment. */
type Read = (source: Source) => Promise<Extracted>;

const maxAttachments = 50;

/** A mail: its headers, its body (the plain text when there is one), and the attachments that hold text. */
export async function emailText(source: Source & { bytes: Uint8Array }, read: Read): Promise<Mail> {
  const mail = await parse(source.bytes);
  const subject = mail.subject?.trim() || null;
  const header = headerLines(mail);
  const body = await bodyText(mail);
  const attached =
    source.depth === 0
      ? await readAttachments(mail.attachments, source.maxTextBytes, read)
      : { texts: [], degraded: [] };
  const text = [subject === null ? '' : `# ${subject}`, header, body, ...attached.texts].filter(Boolean).join('\n\n');
  return { text, format: 'markdown', title: subject, metadata: mailMetadata(mail), degraded: attached.degraded };
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

function headerLines(mail: ParsedMail): string {
  const fields: [string, string | undefined][] = [
    ['From', addresses(mail.from)],
    ['To', addresses(mail.to)],
    ['Cc', addresses(mail.cc)],
    ['Date', dateOf(mail.headerLines)],
  ];
  return fields.flatMap(([name, value]) => (value ? [`${name}: ${value}`] : [])).join('\n');
}

function mailMetadata(mail: ParsedMail): Metadata {
  const date = dateOf(mail.headerLines);
  return { from: addresses(mail.from), to: addresses(mail.to), cc: addresses(mail.cc), ...(date ? { date } : {}) };
}

async function bodyText(mail: ParsedMail): Promise<string> {
  if (mail.text?.trim()) return mail.text.trim();
  return mail.html ? (await htmlText(mail.html, {})).text : '';
}

async function readAttachments(
  attachments: readonly Attachment[],
  maxTextBytes: number,
  read: Read,
): Promise<{ texts: string[]; degraded: string[] }> {
  const texts: string[] = [];
  const degraded: string[] = [];
  // Pictures in the body are no attachments to the reader.
  const listed = attachments.filter((each) => !each.related || each.contentDisposition === 'attachment');
  for (const attachment of listed.slice(0, maxAttachments)) {
    const name = attachment.filename ?? (attachment.contentType === 'message/rfc822' ? 'mail' : attachment.contentType);
    const found = await readAttachment(attachment, maxTextBytes, read);
    if (found.text !== undefined) texts.push(`## Attachment: ${name}\n\n${found.text}`);
    if (found.problem !== undefined) degraded.push(`Attachment ${name}: ${found.problem}`);
  }
  if (listed.length > maxAttachments)
    degraded.push(`Only the first ${maxAttachments} of ${listed.length} attachments were read.`);
  return { texts, degraded };
}

async function readAttachment(
  attachment: Attachment,
  maxTextBytes: number,
  read: Read,
): Promise<{ text?: string; problem?: string }> {
  try {
    const detected = detect(attachment.content, attachment.contentType, attachment.filename);
    const source = { ...detected, bytes: attachment.content, maxTextBytes, depth: 1 };
    const name = attachment.filename === undefined ? {} : { name: attachment.filename };
    return { text: insideMail(await read({ ...source, ...name })) };
  } catch (error) {
    if (MemorydError.is(error)) return { problem: error.message };
    throw error;
  }
}

/** Headings of an attachment stand under its own; code and data stand in a fence. */
function insideMail({ text, format, metadata }: Extracted): string {
  if (format === 'markdown') return demoteHeadings(text, 2);
  const named = metadata?.['language'];
  const language = format === 'json' ? 'json' : typeof named === 'string' ? named : '';
  return format === 'code' || format === 'json' ? fenced(text, language) : text;
}
