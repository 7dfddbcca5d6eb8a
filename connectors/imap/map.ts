import type { FetchedDocument, MetadataValue, Ref } from 'memoryd/connector';
import type { ImapConfig } from './config.ts';
import { locatorOf } from './locate.ts';
import { withoutQuoted } from './quoted.ts';
import type { ReadFile, ReadMail } from './read.ts';
import { compare, newest, revOf, type Copy, type Thread } from './threads.ts';

/** Names and attachments of a thread that fit into metadata, which has a limit. */
const maxNames = 100;

export function threadRef(thread: Thread): Ref {
  const { id, members } = thread;
  const updatedAt = isoTime(newest(thread));
  const locator = locatorOf(members);
  return {
    id,
    rev: revOf(members),
    size: members.reduce((sum, { bytes }) => sum + bytes, 0),
    ...(updatedAt === undefined ? {} : { updatedAt }),
    path: members.at(-1)!.box.path,
    ...(locator === undefined ? {} : { locator }),
  };
}

/** A mail as a thread shows it. */
export interface ShownMail extends Omit<ReadMail, 'copy'> {
  copy: Pick<Copy, 'key' | 'time'>;
  /** The owner of the account sent it, and the source vouches for that. */
  own?: boolean;
}

/** A thread's statement of where it is from. */
export interface Shown extends Pick<ImapConfig, 'attachments'> {
  source: string;
  url: string;
}

/** A thread of which some mails cannot be read now, so that what memory holds of it is to stay. */
export function hiddenRef(thread: Thread): Ref {
  return { ...threadRef(thread), rev: 'hidden', locator: { hidden: true } };
}

export function toDocument(
  ref: Pick<Ref, 'id' | 'rev'>,
  found: readonly ReadMail[],
  { attachments = true }: ImapConfig,
): FetchedDocument {
  const url = `mid:${encodeURIComponent(ref.id.replace(/^<|>$/g, '').toWellFormed())}`;
  return toThread(ref, found, { source: 'imap', url, attachments });
}

/** A thread as one document with a part for each mail, oldest first. `found` holds at least one. */
export function toThread(
  { id, rev }: Pick<Ref, 'id' | 'rev'>,
  found: readonly ShownMail[],
  shown: Shown,
): FetchedDocument {
  const mails = found.toSorted(
    (a, b) => a.copy.time - b.copy.time || compare(a.copy.key, b.copy.key) || compare(a.text, b.text),
  );
  const times = mails.map(({ copy }) => copy.time);
  const createdAt = isoTime(Math.min(...times));
  const updatedAt = isoTime(Math.max(...times));
  return {
    title: titleOf(mails[0]!.subject),
    type: 'text',
    parts: mails.flatMap((one) => toParts(one, shown)),
    metadata: metadataOf(id, mails, shown.source),
    url: shown.url,
    ...(createdAt === undefined ? {} : { createdAt }),
    ...(updatedAt === undefined ? {} : { updatedAt }),
    rev,
  };
}

function toParts(mail: ShownMail, config: Shown): FetchedDocument[] {
  const { copy, from, text, files, remarks, own } = mail;
  const day = isoTime(copy.time)?.slice(0, 10);
  const title = [short(from[0] ?? 'Unknown sender'), day].filter((one) => one !== undefined).join(', ');
  const content = [...remarks.map((remark) => `*${remark}*`), withoutQuoted(text)].filter((one) => one !== '');
  const written = isoTime(copy.time);
  const message: FetchedDocument = {
    title,
    text: content.length === 0 ? '(no text)' : content.join('\n\n'),
    ...(from[0] === undefined ? {} : { author: short(from[0]) }),
    ...(written === undefined ? {} : { createdAt: written }),
    ...(own === undefined ? {} : { own }),
  };
  return [message, ...files.map((one) => toFilePart(one, config))];
}

function toFilePart({ name, mimeType, size, bytes }: ReadFile, config: Shown): FetchedDocument {
  const title = name.slice(0, 500);
  if (config.attachments === false) return { title, text: '(attachment, not read)' };
  if (bytes === undefined) return { title, text: `(attachment of about ${size} bytes, ${mimeType}, not read)` };
  return { title, file: { bytes, name: title, mimeType } };
}

function metadataOf(id: string, mails: readonly ShownMail[], source: string): Record<string, MetadataValue> {
  const names = mails.flatMap(({ files }) => files.map(({ name }) => name.slice(0, 200)));
  const date = isoTime(mails.at(-1)!.copy.time);
  return {
    type: 'mail_thread',
    source,
    subject: titleOf(mails[0]!.subject),
    threadId: id.slice(0, 500),
    from: unique(mails.flatMap(({ from }) => from)),
    to: unique(mails.flatMap(({ to }) => to)),
    ...(date === undefined ? {} : { date }),
    messageCount: mails.length,
    attachmentCount: names.length,
    attachmentNames: names.slice(0, maxNames),
    ...(mails.some(({ remarks }) => remarks.length > 0) ? { degraded: true } : {}),
  };
}

function short(name: string): string {
  return name.slice(0, 100).toWellFormed();
}

function unique(values: readonly string[]): string[] {
  return [...new Set(values.map(short))].slice(0, maxNames);
}

function titleOf(subject: string): string {
  const plain = subject.replace(/^(\s*(re|aw|fwd?|wg|sv|antw)\s*(\[\d+\])?:\s*)+/i, '').trim();
  return plain === '' ? '(no subject)' : plain.slice(0, 500).toWellFormed();
}

/** Undefined for times that mails do claim and dates cannot hold. */
function isoTime(seconds: number): string | undefined {
  const date = new Date(seconds * 1_000);
  const year = date.getUTCFullYear();
  return seconds > 0 && year >= 1971 && year <= 9999 ? date.toISOString() : undefined;
}
