import { hash } from 'node:crypto';
import { cursorExpired, transient, type Json, type Page, type Partition, type Ref } from 'memoryd/connector';
import { ask, RefusedRequest } from './client.ts';
import type { GmailContext } from './config.ts';

/** Where the history is read on; with a token in the middle of one answer. A type, so that it is `Json`. */
export type HistoryCursor = { history: string; token?: string };

/**
 * A listing has two halves. First the ids of all mails are gathered, one request for 500 of them, and kept in
 * records: the mails of a thread are spread over the pages. Then the threads are shown. A type, not an interface: it
 * must be assignable to `Json`.
 */
export type GmailCursor =
  | { list: number; part: number; token?: string }
  | { shown: number; parts: number }
  | { removed: number; parts: number }
  | HistoryCursor;

/** How much is asked for at once. */
export interface ListSizes {
  mailsPerRequest: number;
  requestsPerPage: number;
  threadsPerPage: number;
}

const standardSizes: ListSizes = { mailsPerRequest: 500, requestsPerPage: 4, threadsPerPage: 500 };
/** Records that one page removes; the contract takes 1,000. */
const recordsPerPage = 900;
/** The mails of a longer thread are not named; it is read as a whole. */
const maxNamedMails = 100;

/** One query of `messages.list`, and what its answer stands for. */
interface MailList {
  role: 'all' | 'drafts' | 'found';
  query: { labelIds?: string[]; q?: string };
}

/** One answer: threads, each with the mails that the answer showed of it. */
type Part = { role: MailList['role']; threads: [thread: string, ...mails: string[]][] };

interface Held {
  parts: Map<number, Part>;
  threads?: [thread: string, ...mails: string[]][];
  /** A listing of this run has come to its end. */
  isListed: boolean;
}

export const heldOf = (ctx: GmailContext): Promise<Held> =>
  ctx.session('listing', async () => ({ parts: new Map(), isListed: false }));

/** Changes when a mail of the thread comes or goes: a mail itself never changes. */
export function revOf(mails: readonly string[]): string {
  return hash('sha256', mails.toSorted().join('\n'), 'hex').slice(0, 32);
}

/** The mails of a thread that a listing named. */
export function namedMails({ locator }: Ref): string[] {
  const mails = locator?.['mails'];
  return Array.isArray(mails) ? mails.map(String) : [];
}

/** Whether a listing showed it, and not the history. */
export const isListed = (ref: Ref): boolean => namedMails(ref).length > 0 && ref.locator?.['isNew'] !== true;

/** One page of the threads, those with the newest mail first. */
export async function listPage(
  ctx: GmailContext,
  partition: Partition,
  from: GmailCursor = { list: 0, part: 0 },
  sizes: ListSizes = standardSizes,
): Promise<Page<GmailCursor>> {
  if ('list' in from) return gather(ctx, from, sizes);
  if ('shown' in from) return show(ctx, partition, from, sizes);
  if ('removed' in from) return removeParts(ctx, from);
  throw cursorExpired('The position is one of changes, not of a listing.');
}

/** The mails of a thread are all of it but drafts, trash and spam; it is mirrored when one of them was found. */
function listsOf({ config, selection }: GmailContext): MailList[] {
  const search = config.query === undefined ? {} : { q: config.query };
  const found: MailList[] = selection.map(({ id }) => ({ role: 'found', query: { labelIds: [id], ...search } }));
  if (found.length === 0 && config.query !== undefined) found.push({ role: 'found', query: search });
  return [{ role: 'all', query: {} }, { role: 'drafts', query: { labelIds: ['DRAFT'] } }, ...found];
}

async function gather(
  ctx: GmailContext,
  from: Extract<GmailCursor, { list: number }>,
  { mailsPerRequest, requestsPerPage }: ListSizes,
): Promise<Page<GmailCursor>> {
  const held = await heldOf(ctx);
  if (from.part === 0) Object.assign(held, { parts: new Map(), threads: undefined, isListed: false });
  const lists = listsOf(ctx);
  const records: Record<string, Json> = {};
  let { list, part, token } = from;
  for (let request = 0; request < requestsPerPage && list < lists.length; request++, part++) {
    ctx.signal.throwIfAborted();
    const { role, query } = lists[list]!;
    const answer = await readIds(ctx, { ...query, maxResults: mailsPerRequest, ...(token && { pageToken: token }) });
    const stored: Part = { role, threads: answer.threads };
    held.parts.set(part, stored);
    records[nameOf(part)] = stored;
    token = answer.next;
    if (token === undefined) list += 1;
  }
  if (list === lists.length) return { refs: [], records, next: { shown: 0, parts: part } };
  return { refs: [], records, next: { list, part, ...(token === undefined ? {} : { token }) } };
}

async function readIds(ctx: GmailContext, query: MailList['query'] & { maxResults: number; pageToken?: string }) {
  const fields = 'messages(id,threadId),nextPageToken,resultSizeEstimate';
  const answer = await ask(ctx, (users) => users.messages.list({ userId: 'me', ...query, fields })).catch(
    (error: unknown) => {
      const isForgotten = error instanceof RefusedRequest && query.pageToken !== undefined;
      throw isForgotten ? cursorExpired('Gmail no longer knows where the listing was.') : error;
    },
  );
  // The list is left out when there is no mail, and the estimate never.
  if (typeof answer.resultSizeEstimate !== 'number') throw transient('Gmail did not answer a list of mails.');
  const threads = new Map<string, [string, ...string[]]>();
  for (const { id, threadId } of answer.messages ?? []) {
    if (!id || !threadId) throw transient('Gmail listed a mail without its ids.');
    const thread = threads.get(threadId);
    if (thread) thread.push(id);
    else threads.set(threadId, [threadId, id]);
  }
  return { threads: [...threads.values()], next: answer.nextPageToken || undefined };
}

async function show(
  ctx: GmailContext,
  partition: Partition,
  { shown, parts }: Extract<GmailCursor, { shown: number }>,
  { threadsPerPage }: ListSizes,
): Promise<Page<GmailCursor>> {
  const held = await heldOf(ctx);
  held.threads ??= threadsIn(await partsOf(ctx, partition, held, parts));
  held.parts.clear();
  const { threads } = held;
  const end = shown + threadsPerPage;
  const page = { refs: threads.slice(shown, end).map(toRef), total: threads.length };
  if (end < threads.length) return { ...page, next: { shown: end, parts } };
  return { ...page, ...(await removeParts(ctx, { removed: 0, parts })), refs: page.refs };
}

/** A run that goes on where another one ended finds them in the records. */
async function partsOf(ctx: GmailContext, partition: Partition, held: Held, count: number): Promise<Part[]> {
  if (held.parts.size === count) return [...held.parts.entries()].toSorted(([a], [b]) => a - b).map(([, part]) => part);
  const stored = { ...(await ctx.records(partition, 'part/')) };
  return Array.from({ length: count }, (_, part) => {
    const found = held.parts.get(part) ?? stored[nameOf(part)];
    if (found === undefined) throw cursorExpired('The mails that were listed before no longer exist.');
    return found as Part;
  });
}

function threadsIn(parts: readonly Part[]): [string, ...string[]][] {
  const drafts = new Set(mailsIn(parts, 'drafts'));
  const isSelective = parts.some(({ role }) => role === 'found');
  const found = new Set(mailsIn(parts, 'found'));
  const threads = new Map<string, Set<string>>();
  for (const { role, threads: some } of parts) {
    if (role !== 'all') continue;
    for (const [id, ...mails] of some) {
      const known = threads.get(id) ?? new Set();
      for (const mail of mails) if (!drafts.has(mail)) known.add(mail);
      if (known.size > 0) threads.set(id, known);
    }
  }
  return [...threads].flatMap(([id, mails]): [string, ...string[]][] =>
    isSelective && !mails.values().some((mail) => found.has(mail)) ? [] : [[id, ...mails]],
  );
}

function mailsIn(parts: readonly Part[], wanted: Part['role']): string[] {
  return parts.flatMap(({ role, threads }) => (role === wanted ? threads.flatMap(([, ...mails]) => mails) : []));
}

function toRef([id, ...mails]: [string, ...string[]]): Ref {
  return { id, rev: revOf(mails), ...(mails.length > maxNamedMails ? {} : { locator: { mails } }) };
}

async function removeParts(
  ctx: GmailContext,
  { removed, parts }: Extract<GmailCursor, { removed: number }>,
): Promise<Page<GmailCursor>> {
  const end = Math.min(removed + recordsPerPage, parts);
  const names = Array.from({ length: end - removed }, (_, index) => nameOf(removed + index));
  const records = Object.fromEntries(names.map((name) => [name, null]));
  if (end < parts) return { refs: [], records, next: { removed: end, parts } };
  (await heldOf(ctx)).isListed = true;
  return { refs: [], records, done: true };
}

const nameOf = (part: number): string => `part/${part}`;
