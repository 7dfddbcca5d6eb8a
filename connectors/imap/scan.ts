import { hash } from 'node:crypto';
import type { FetchMessageObject, ImapFlow } from 'imapflow';
import { transient, type Context } from 'memoryd/connector';
import { fetchAll, openMail, openMailbox } from './client.ts';
import type { ImapConfig } from './config.ts';
import { chooseMailboxes } from './mailboxes.ts';
import { serverThread, toThreads, type Copy, type Thread } from './threads.ts';

const mailsPerRequest = 500;
/** Of a longer list the first and the last ones count: a mail must not cost without bound. */
const maxReferences = 100;

export interface Scan {
  threads: Thread[];
  byId: Map<string, Thread>;
  /** Equal when two scans found the same threads in the same order. */
  stamp: string;
}

/** Threads of this run: those of its listing, or of a scan made for the first `fetch` of a run without one. */
export async function scanOf(ctx: Context<ImapConfig>, again: boolean): Promise<Scan> {
  const held = await ctx.session('scan', async (): Promise<{ scan?: Promise<Scan> }> => ({}));
  if (held.scan === undefined || again) {
    const scan = scanMailboxes(ctx);
    held.scan = scan;
    scan.catch(() => {
      if (held.scan === scan) delete held.scan;
    });
  }
  return held.scan;
}

async function scanMailboxes(ctx: Context<ImapConfig>): Promise<Scan> {
  const mail = await openMail(ctx);
  const paths = await mail.use((client) => chooseMailboxes(client, ctx));
  const copies: Copy[] = [];
  for (const path of paths) {
    ctx.signal.throwIfAborted();
    for (const copy of await mail.use((client) => scanMailbox(client, path))) copies.push(copy);
  }
  const threads = toThreads(copies);
  const stamp = hash('sha256', threads.map(({ id, rev }) => `${id} ${rev}`).join('\n'), 'hex').slice(0, 32);
  return { threads, byId: new Map(threads.map((thread) => [thread.id, thread])), stamp };
}

/**
 * Every mail of a mailbox, the newest first, as many requests as there are 500 UIDs. Throws
 * `transient` when fewer mails were shown than SEARCH named and none of them was removed meanwhile.
 */
async function scanMailbox(client: ImapFlow, path: string): Promise<Copy[]> {
  const { exists, uidValidity } = await openMailbox(client, path);
  // Some servers refuse the range `1:*` in an empty mailbox.
  if (exists === 0) return [];
  const uids = await searchAll(client, path);
  const copies: Copy[] = [];
  for (let end = uids.length; end > 0; end -= mailsPerRequest) {
    const asked = uids.slice(Math.max(0, end - mailsPerRequest), end);
    const answers = await fetchAll(client, toUidSet(asked), {
      uid: true,
      envelope: true,
      internalDate: true,
      size: true,
      threadId: true,
      headers: ['references'],
    });
    const wanted = new Set(asked);
    const shown = answers.filter((answer) => wanted.delete(answer.uid));
    if (wanted.size > 0) await assertRemoved(client, path, wanted);
    for (const answer of shown) copies.push(toCopy({ path, uidValidity }, answer));
  }
  return copies;
}

/** Throws `transient` when a mail that was not shown is still there. */
export async function assertRemoved(client: ImapFlow, path: string, missing: ReadonlySet<number>): Promise<void> {
  const present = await searchAll(client, path);
  if (present.some((uid) => missing.has(uid))) {
    throw transient(`The server did not show all mails of ${JSON.stringify(path)}.`);
  }
}

async function searchAll(client: ImapFlow, path: string): Promise<number[]> {
  const uids = await client.search({ all: true }, { uid: true });
  if (!Array.isArray(uids)) throw transient(`The server did not search ${JSON.stringify(path)}.`);
  return uids.sort((a, b) => a - b);
}

/** RFC 3501 `sequence-set`, e.g. `1:3,7`. The numbers must be sorted. */
export function toUidSet(uids: readonly number[]): string {
  const ranges: string[] = [];
  for (let start = 0; start < uids.length;) {
    let end = start;
    while (uids[end + 1] === uids[end]! + 1) end += 1;
    ranges.push(start === end ? `${uids[start]}` : `${uids[start]}:${uids[end]}`);
    start = end + 1;
  }
  return ranges.join(',');
}

function toCopy(
  { path: mailbox, uidValidity }: { path: string; uidValidity: string },
  answer: FetchMessageObject,
): Copy {
  const { envelope, uid } = answer;
  const bytes = answer.size ?? 0;
  const timeMs = timeOf(envelope?.date) ?? timeOf(answer.internalDate) ?? 0;
  const subject = envelope?.subject ?? '';
  const own = idsIn(envelope?.messageId ?? '')[0];
  const from = envelope?.from?.[0]?.address ?? '';
  const key = own ?? `hash:${hash('sha256', [timeMs, from, subject, bytes].join('\n'), 'hex').slice(0, 40)}`;
  const references = idsIn(headerText(answer.headers));
  const few =
    references.length <= maxReferences ? references : [references[0]!, ...references.slice(1 - maxReferences)];
  const parents = [...few, ...idsIn(envelope?.inReplyTo ?? '')].filter((parent) => parent !== key);
  if (answer.threadId !== undefined) parents.push(`${serverThread}${answer.threadId}`);
  return { key, parents, mailbox, uidValidity, uid, bytes, timeMs, subject };
}

/** Message-IDs in a header's text. What has no angle brackets is taken as one when it looks like one. */
export function idsIn(text: string): string[] {
  const found = text.match(/<[^<>\s]{1,900}>/g);
  if (found) return found.map((id) => id.toWellFormed());
  const bare = text.trim();
  return /^[^\s<>]{1,900}$/.test(bare) ? [`<${bare.toWellFormed()}>`] : [];
}

function headerText(headers: Uint8Array | undefined): string {
  return headers === undefined
    ? ''
    : Buffer.from(headers)
        .toString('latin1')
        .replace(/^references:/i, '');
}

function timeOf(value: Date | string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const timeMs = new Date(value).getTime();
  return Number.isNaN(timeMs) ? undefined : timeMs;
}
