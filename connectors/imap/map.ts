import type { AddressObject, Attachment, ParsedMail } from 'mailparser';
import type { FetchedDocument, MetadataValue, Ref } from 'memoryd/connector';
import { defaultMaxAttachmentBytes, type ImapConfig } from './config.ts';
import { withoutQuoted } from './quoted.ts';
import { revOf, type Copy, type Thread } from './threads.ts';

export interface ReadMail {
  copy: Copy;
  mail: ParsedMail;
  /** Why it is not whole. */
  degraded?: string;
}

/** Of a thread's names and attachments so many are told in metadata, which has a limit. */
const maxNames = 100;

export function threadRef(thread: Thread): Ref {
  const { id, rev, members, newestMs } = thread;
  const updatedAt = isoTime(newestMs);
  return {
    id,
    rev,
    title: titleOf(members[0]!.subject),
    size: members.reduce((sum, { bytes }) => sum + bytes, 0),
    ...(updatedAt === undefined ? {} : { updatedAt }),
    path: members.at(-1)!.mailbox,
  };
}

/** A thread as one document with a part for each mail, oldest first. `mails` holds at least one. */
export function toDocument(id: string, mails: readonly ReadMail[], config: ImapConfig): FetchedDocument {
  const parts = mails.flatMap((one) => toParts(one, config));
  const times = mails.map(({ copy }) => copy.timeMs);
  const createdAt = isoTime(Math.min(...times));
  const updatedAt = isoTime(Math.max(...times));
  return {
    title: titleOf(mails[0]!.mail.subject ?? ''),
    type: 'text',
    parts,
    metadata: metadataOf(id, mails),
    url: `mid:${encodeURIComponent(id.replace(/^<|>$/g, ''))}`,
    ...(createdAt === undefined ? {} : { createdAt }),
    ...(updatedAt === undefined ? {} : { updatedAt }),
    rev: revOf(mails.map(({ copy }) => copy)),
  };
}

function toParts({ mail, copy, degraded }: ReadMail, config: ImapConfig): FetchedDocument[] {
  const day = isoTime(copy.timeMs)?.slice(0, 10);
  const title = [addressesOf(mail.from)[0] ?? 'Unknown sender', day].filter((text) => text !== undefined).join(', ');
  const text = degraded === undefined ? '' : `*${degraded}*`;
  const body = bodyOf(mail);
  const content = [text, body].filter((one) => one !== '').join('\n\n');
  const message: FetchedDocument = { title, text: content === '' ? '(no text)' : content };
  return [message, ...mail.attachments.filter((one) => !one.related).map((one) => toFilePart(one, config))];
}

/** mailparser makes text of a mail that has only HTML. */
function bodyOf(mail: ParsedMail): string {
  return withoutQuoted(mail.text ?? '');
}

function toFilePart(attachment: Attachment, config: ImapConfig): FetchedDocument {
  const name = attachment.filename ?? 'attachment';
  const limit = config.maxAttachmentBytes ?? defaultMaxAttachmentBytes;
  if (config.attachments === false) return { title: name, text: '(attachment, not read)' };
  if (attachment.size > limit) return { title: name, text: `(attachment of ${attachment.size} bytes, not read)` };
  return { title: name, file: { bytes: attachment.content, name, mimeType: attachment.contentType } };
}

function metadataOf(id: string, mails: readonly ReadMail[]): Record<string, MetadataValue> {
  const last = mails.at(-1)!;
  const attachments = mails.flatMap(({ mail }) => mail.attachments.filter((one) => !one.related));
  const names = attachments.map(({ filename }) => (filename ?? 'attachment').slice(0, 200));
  const date = isoTime(last.copy.timeMs);
  const degraded = mails.some((one) => one.degraded !== undefined);
  return {
    type: 'mail_thread',
    source: 'imap',
    subject: titleOf(mails[0]!.mail.subject ?? ''),
    threadId: id.slice(0, 500),
    from: unique(mails.flatMap(({ mail }) => addressesOf(mail.from))),
    to: unique(mails.flatMap(({ mail }) => addressesOf(mail.to))),
    ...(date === undefined ? {} : { date }),
    messageCount: mails.length,
    attachmentCount: attachments.length,
    attachmentNames: names.slice(0, maxNames),
    ...(degraded ? { degraded: true } : {}),
  };
}

function addressesOf(value: AddressObject | AddressObject[] | undefined): string[] {
  const objects = value === undefined ? [] : Array.isArray(value) ? value : [value];
  return objects.flatMap((one) =>
    one.value.map(({ address, name }) => (address || name).slice(0, 100)).filter(Boolean),
  );
}

function unique(values: readonly string[]): string[] {
  return [...new Set(values)].slice(0, maxNames);
}

function titleOf(subject: string): string {
  const plain = subject.replace(/^(\s*(re|aw|fwd?|wg|sv|antw)\s*(\[\d+\])?:\s*)+/i, '').trim();
  return plain === '' ? '(no subject)' : plain.slice(0, 500).toWellFormed();
}

/** Undefined for times that mails do claim and dates cannot hold. */
function isoTime(timeMs: number): string | undefined {
  const date = new Date(timeMs);
  const year = date.getUTCFullYear();
  return timeMs > 0 && year >= 1971 && year <= 9999 ? date.toISOString() : undefined;
}
