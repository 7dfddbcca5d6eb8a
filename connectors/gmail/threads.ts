import type { gmail_v1 } from '@googleapis/gmail';
import { ConnectorError, transient, type Fetched, type Page, type Ref } from 'memoryd/connector';
import { ask } from './client.ts';
import type { GmailContext } from './config.ts';
import { toThreadDocument } from './document.ts';
import { isChosen, isKept } from './labels.ts';
import { namedMails, revOf, type GmailCursor } from './list.ts';
import { toReadMail } from './payload.ts';

type Mail = gmail_v1.Schema$Message;

/** One thread: a single mail costs half of what a thread costs. */
export async function fetchThread(ctx: GmailContext, ref: Ref): Promise<Fetched> {
  const departed = await ctx.session('departed', async () => new Set<string>());
  // Gmail showed all its mails, and none is mirrored: the second look that a 404 gets would see the same.
  if (departed.delete(ref.id)) return { gone: true };
  const named = namedMails(ref);
  const single = named.length === 1 ? await readMail(ctx, named[0]!) : undefined;
  const kept = single && isKept(single) && isChosen(ctx, [single]) ? [single] : await readKept(ctx, ref.id);
  if (kept === undefined) return { gone: true };
  if (!isChosen(ctx, kept)) {
    departed.add(ref.id);
    return { gone: true };
  }
  const mails = [];
  for (const mail of kept) mails.push(await toReadMail(ctx, mail));
  return toThreadDocument({ id: ref.id, rev: revOf(kept.map(idOf)) }, mails, ctx.config);
}

/** The mails of a thread that are neither in the trash nor drafts; undefined when there is no such thread. */
async function readKept(ctx: GmailContext, id: string): Promise<Mail[] | undefined> {
  const thread = await present(ask(ctx, (users) => users.threads.get({ userId: 'me', id, format: 'full' })));
  return thread && mailsOf(thread, id).filter(isKept);
}

function mailsOf(thread: gmail_v1.Schema$Thread, id: string): Mail[] {
  if (thread.id !== id || !thread.messages?.length) throw transient('Gmail did not answer the thread.');
  return thread.messages;
}

async function readMail(ctx: GmailContext, id: string): Promise<Mail | undefined> {
  const mail = await present(ask(ctx, (users) => users.messages.get({ userId: 'me', id, format: 'full' })));
  if (mail !== undefined && mail.id !== id) throw transient('Gmail did not answer the mail.');
  return mail;
}

/** Undefined for 404. */
async function present<Data>(answer: Promise<Data>): Promise<Data | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (ConnectorError.is(error) && error.kind === 'gone') return undefined;
    throw error;
  }
}

function idOf({ id }: Mail): string {
  if (!id) throw transient('Gmail answered a mail without an id.');
  return id;
}

/** The present state of some threads, with one request for each. */
export async function lookUpThreads(ctx: GmailContext, ids: readonly string[]): Promise<Page<GmailCursor>> {
  const refs: Ref[] = [];
  const gone: string[] = [];
  const outside: string[] = [];
  for (const id of ids) {
    ctx.signal.throwIfAborted();
    const kept = await lookUp(ctx, id);
    if (kept !== undefined && !isChosen(ctx, kept)) outside.push(id);
    else if (kept !== undefined && (await isFound(ctx, kept))) refs.push({ id, rev: revOf(kept.map(idOf)) });
    else gone.push(id);
  }
  return { refs, gone, outside, done: true };
}

async function lookUp(ctx: GmailContext, id: string): Promise<Mail[] | undefined> {
  const query = { userId: 'me', id, format: 'metadata', metadataHeaders: ['Message-ID'] };
  const fields = 'id,messages(id,labelIds,payload/headers)';
  const thread = await present(ask(ctx, (users) => users.threads.get({ ...query, fields })));
  return thread && mailsOf(thread, id).filter(isKept);
}

/** Whether the search of the connection finds one of these mails, asked by their Message-IDs. */
async function isFound(ctx: GmailContext, mails: readonly Mail[]): Promise<boolean> {
  const { query } = ctx.config;
  if (query === undefined) return true;
  const ids = new Set(mails.map(idOf));
  const words = mails.flatMap(({ payload }) => (payload?.headers ?? []).map(({ value }) => `rfc822msgid:${value}`));
  const q = `(${query}) {${words.join(' ')}}`;
  const { messages = [] } = await ask(ctx, (users) => users.messages.list({ userId: 'me', q, maxResults: 500 }));
  return messages.some(({ id }) => ids.has(id ?? ''));
}
