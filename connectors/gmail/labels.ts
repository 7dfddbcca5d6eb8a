import type { gmail_v1 } from '@googleapis/gmail';
import { transient, type ResourcePage } from 'memoryd/connector';
import { ask } from './client.ts';
import type { GmailContext } from './config.ts';

/** Mail with one of these is not mirrored. */
const hidden = new Set(['TRASH', 'SPAM', 'DRAFT']);
/** Labels that say how a mail was looked at, not what it is about. */
const unoffered = new Set([...hidden, 'UNREAD', 'CHAT']);

export const isKept = ({ labelIds }: gmail_v1.Schema$Message): boolean =>
  !(labelIds ?? []).some((id) => hidden.has(id));

export const isSent = ({ labelIds }: gmail_v1.Schema$Message): boolean => (labelIds ?? []).includes('SENT');

/** Whether a thread with these mails is mirrored; without a selection each is. */
export function isChosen({ selection }: GmailContext, kept: readonly gmail_v1.Schema$Message[]): boolean {
  if (kept.length === 0) return false;
  const chosen = new Set(selection.map(({ id }) => id));
  return chosen.size === 0 || kept.some(({ labelIds }) => (labelIds ?? []).some((id) => chosen.has(id)));
}

/** Labels whose coming or going changes what is mirrored. All others are noise. */
export function decidingLabels({ selection }: GmailContext): ReadonlySet<string> {
  return new Set([...hidden, ...selection.map(({ id }) => id)]);
}

/** The labels among which the user chooses. Every account has some (INBOX), so an answer without any is none. */
export async function listLabels(ctx: GmailContext): Promise<ResourcePage> {
  const { labels } = await ask(ctx, (users) => users.labels.list({ userId: 'me', fields: 'labels(id,name,type)' }));
  if (!labels?.length) throw transient('Gmail did not list the labels.');
  const resources = labels.flatMap(({ id, name, type }) =>
    id && !unoffered.has(id) ? [{ id, name: name ?? id, kind: type === 'user' ? 'label' : 'system label' }] : [],
  );
  return { resources, total: resources.length };
}
