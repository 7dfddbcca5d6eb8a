import { hash } from 'node:crypto';
import type { ImapFlow } from 'imapflow';
import { cursorExpired, transient, type Context, type Page, type Partition } from 'memoryd/connector';
import { openMail } from './client.ts';
import type { ImapConfig } from './config.ts';
import { chooseMailboxes } from './mailboxes.ts';
import { threadRef } from './map.ts';
import { scanOf } from './scan.ts';

/** Where a listing or the mailboxes stand. A type, not an interface: it must be assignable to `Json`. */
export type MailCursor = { listed: number; stamp: string } | { state: string };

const threadsPerPage = 500;

/** One page of threads, the newest first. Throws `CursorExpired` when the threads changed between two pages. */
export async function listPage(
  ctx: Context<ImapConfig>,
  _partition: Partition,
  from: MailCursor | undefined,
  pageSize = threadsPerPage,
): Promise<Page<MailCursor>> {
  const scan = await scanOf(ctx, from === undefined);
  const listed = from !== undefined && 'listed' in from ? from.listed : 0;
  if (from !== undefined && (!('stamp' in from) || from.stamp !== scan.stamp)) {
    throw cursorExpired('The mailboxes changed since the listing began.');
  }
  const end = listed + pageSize;
  const refs = scan.threads.slice(listed, end).map(threadRef);
  const total = scan.threads.length;
  if (end >= total) return { refs, done: true, total };
  return { refs, next: { listed: end, stamp: scan.stamp }, total };
}

/** What the mailboxes hold, in a few numbers: one STATUS each. */
export async function headOf(ctx: Context<ImapConfig>): Promise<MailCursor> {
  const mail = await openMail(ctx);
  return mail.use(async (client) => {
    const states: string[] = [];
    for (const path of await chooseMailboxes(client, ctx)) states.push(`${path}\n${await stateOf(client, path)}`);
    return { state: hash('sha256', states.join('\n'), 'hex').slice(0, 32) };
  });
}

/**
 * Nothing, or `CursorExpired`: a mail never changes, so that the count of mails, the next UID and the
 * UIDVALIDITY tell whether one came, went or moved, on servers with and without CONDSTORE. Threads
 * are then found from all envelopes again; what is unchanged is not downloaded.
 */
export async function changesSince(
  ctx: Context<ImapConfig>,
  _partition: Partition,
  from: MailCursor,
): Promise<Page<MailCursor>> {
  const now = await headOf(ctx);
  if (!('state' in from) || !('state' in now) || from.state !== now.state) {
    throw cursorExpired('Mail came, went or moved.');
  }
  return { refs: [], next: now, done: true };
}

async function stateOf(client: ImapFlow, path: string): Promise<string> {
  const status = await client.status(path, { messages: true, uidNext: true, uidValidity: true });
  if (status === false) throw transient(`The server did not tell the state of ${JSON.stringify(path)}.`);
  const { messages, uidNext, uidValidity } = status;
  if (messages === undefined) throw transient(`The server did not count the mails of ${JSON.stringify(path)}.`);
  const next = uidNext ?? (await highestUid(client, path, messages));
  return `${uidValidity} ${messages} ${next}`;
}

/** For servers that leave UIDNEXT out. The highest UID and the sum tell the same. */
async function highestUid(client: ImapFlow, path: string, messages: number): Promise<string> {
  if (messages === 0) return 'empty';
  await client.mailboxOpen(path, { readOnly: true });
  const uids = await client.search({ all: true }, { uid: true });
  if (!Array.isArray(uids)) throw transient(`The server did not search ${JSON.stringify(path)}.`);
  return hash('sha256', uids.join(), 'hex').slice(0, 32);
}
