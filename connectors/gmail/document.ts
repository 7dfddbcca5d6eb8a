import type { FetchedDocument, Ref } from 'memoryd/connector';
import { toThread, type ShownMail } from '../imap/map.ts';
import type { GmailConfig } from './config.ts';

/** A thread as one document with a part for each mail, oldest first. */
export function toThreadDocument(
  ref: Pick<Ref, 'id' | 'rev'>,
  mails: readonly ShownMail[],
  { attachments = true }: GmailConfig,
): FetchedDocument {
  return toThread(ref, mails, { source: 'gmail', url: `https://mail.google.com/mail/#all/${ref.id}`, attachments });
}
