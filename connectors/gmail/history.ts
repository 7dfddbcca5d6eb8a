import type { gmail_v1 } from '@googleapis/gmail';
import { ConnectorError, cursorExpired, transient, type Page, type Ref } from 'memoryd/connector';
import { ask } from './client.ts';
import type { GmailContext } from './config.ts';
import { decidingLabels, isKept } from './labels.ts';
import { heldOf, revOf, type GmailCursor, type HistoryCursor } from './list.ts';

const recordsPerRequest = 500;
const historyTypes = ['messageAdded', 'messageDeleted', 'labelAdded', 'labelRemoved'];

/** The history id of now: https://developers.google.com/workspace/gmail/api/guides/sync */
export async function headOf(ctx: GmailContext): Promise<HistoryCursor> {
  const { historyId } = await ask(ctx, (users) => users.getProfile({ userId: 'me', fields: 'historyId' }));
  if (!historyId) throw transient('Gmail did not tell the history id.');
  return { history: historyId };
}

/**
 * The threads of which mail came or went since a position. What they hold now shows when they are read. Throws
 * `CursorExpired` for a position that Gmail has forgotten, and when a search decides what is mirrored: only a listing
 * tells what it finds now.
 */
export async function changesSince(ctx: GmailContext, from: GmailCursor): Promise<Page<GmailCursor>> {
  if (!('history' in from)) throw cursorExpired('The position is one of a listing.');
  const { history = [], historyId, nextPageToken } = await readHistory(ctx, from);
  if (!historyId) throw transient('Gmail did not answer a history.');
  if (history.length > 0 && ctx.config.query !== undefined) {
    // Right after a listing another one would show little more; the next sync makes it.
    if ((await heldOf(ctx)).isListed) return { refs: [], next: from, done: true };
    throw cursorExpired('Something changed, and a search decides what is mirrored.');
  }
  const refs = changedThreads(history, decidingLabels(ctx));
  if (nextPageToken) return { refs, next: { history: from.history, token: nextPageToken } };
  return { refs, next: { history: historyId }, done: true };
}

async function readHistory(ctx: GmailContext, { history, token }: HistoryCursor) {
  const query = { startHistoryId: history, historyTypes, maxResults: recordsPerRequest };
  const page = token === undefined ? {} : { pageToken: token };
  const fields = 'history,historyId,nextPageToken';
  try {
    return await ask(ctx, (users) => users.history.list({ userId: 'me', ...query, ...page, fields }));
  } catch (error) {
    const isForgotten = ConnectorError.is(error) && (error.kind === 'gone' || error.message.endsWith(' 400'));
    throw isForgotten
      ? cursorExpired('Gmail keeps the history for about a week, and has forgotten this place.')
      : error;
  }
}

/** One event of a thread in a page of the history. */
interface Event {
  record: string;
  /** The mails that came, if nothing else happened. */
  came: Set<string> | null;
}

function changedThreads(history: readonly gmail_v1.Schema$History[], deciding: ReadonlySet<string>): Ref[] {
  const events = new Map<string, Event>();
  const note = (record: string, { id, threadId }: gmail_v1.Schema$Message, hasCome: boolean) => {
    if (!threadId || !id) return;
    const came = events.has(threadId) ? events.get(threadId)!.came : new Set<string>();
    if (hasCome) came?.add(id);
    events.set(threadId, { record, came: hasCome ? came : null });
  };
  for (const entry of history)
    for (const [mail, hasCome] of affectedMails(entry, deciding)) note(entry.id ?? '', mail, hasCome);
  return [...events].map(([id, event]) => toRef(id, event));
}

/** The mails of an entry that came into what is mirrored or left it. An entry that does not say what happened counts. */
function affectedMails(
  entry: gmail_v1.Schema$History,
  deciding: ReadonlySet<string>,
): [mail: gmail_v1.Schema$Message, hasCome: boolean][] {
  const { messagesAdded = [], messagesDeleted = [], labelsAdded = [], labelsRemoved = [], messages = [] } = entry;
  const count = messagesAdded.length + messagesDeleted.length + labelsAdded.length + labelsRemoved.length;
  if (count === 0) return messages.map((mail) => [mail, false]);
  const came = messagesAdded.flatMap(({ message }) => (message && isKept(message) ? [message] : []));
  const went = messagesDeleted.flatMap(({ message }) => (message && isKept(message) ? [message] : []));
  const moved = [...labelsAdded, ...labelsRemoved].flatMap(({ message, labelIds }) =>
    message && labelIds?.some((label) => deciding.has(label)) ? [message] : [],
  );
  return [
    ...came.map((mail) => [mail, true] as const),
    ...[...went, ...moved].map((mail) => [mail, false] as const),
  ].map(([mail, hasCome]) => [mail, hasCome]);
}

/** A thread has the id of its first mail: one that only that mail came to is new, and known without being read. */
function toRef(id: string, { record, came }: Event): Ref {
  const mails = [...(came ?? [])];
  if (mails.length === 1 && mails[0] === id) return { id, rev: revOf(mails), locator: { mails, isNew: true } };
  return { id, rev: `history ${record}` };
}
