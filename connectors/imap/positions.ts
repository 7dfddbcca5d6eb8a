import { hash } from 'node:crypto';
import type { ImapFlow } from 'imapflow';
import { transient, type Context } from 'memoryd/connector';
import { openMail } from './client.ts';
import { isRefusal } from './closed.ts';
import type { ImapConfig } from './config.ts';
import { chooseMailboxes } from './mailboxes.ts';
import { allUids, openBox } from './requests.ts';

/**
 * Path, UIDVALIDITY, number of mails, UIDNEXT, and HIGHESTMODSEQ where QRESYNC is offered (RFC 7162). A type,
 * not an interface: it must be assignable to `Json`. Always from STATUS: the vendor's client raises what it
 * shows of an open mailbox by itself while mail is read, ahead of what was stored.
 */
export type BoxState = [path: string, uidValidity: string, messages: number, uidNext: number, modseq: string | null];

/**
 * Where the mailboxes stood. `boxes` is left out when there are too many for a cursor; `closed` are those that tell
 * nothing and cannot be opened.
 */
export type Position = { state: string; boxes?: BoxState[]; closed?: string[] };

/** A cursor holds 64 KiB at most. */
const maxBoxesLength = 40_000;

/** Sums up each mailbox in a few numbers, with one STATUS. Answers their paths as well. */
export async function readPosition(ctx: Context<ImapConfig>): Promise<{ position: Position; paths: string[] }> {
  const mail = await openMail(ctx);
  return mail.use(async (client) => {
    // For the open mailbox, STATUS tells its state when it was opened (RFC 3501 section 6.3.10).
    if (client.mailbox) await client.mailboxClose();
    const paths = await chooseMailboxes(client, ctx);
    const boxes: BoxState[] = [];
    const closed: string[] = [];
    for (const path of paths) {
      const state = await stateOf(client, path);
      if (state) boxes.push(state);
      else closed.push(path);
    }
    return { position: toPosition(boxes, closed), paths };
  });
}

/** Flags raise HIGHESTMODSEQ and are not mirrored, so it is not part of the state. */
function toPosition(boxes: BoxState[], closed: string[]): Position {
  const parts = boxes.map((box) => box.slice(0, 4));
  const text = JSON.stringify(closed.length === 0 ? parts : [parts, closed]);
  const state = hash('sha256', text, 'hex').slice(0, 32);
  const isLong = JSON.stringify([boxes, closed]).length > maxBoxesLength;
  return { state, ...(isLong ? {} : { boxes }), ...(isLong || closed.length === 0 ? {} : { closed }) };
}

/** Undefined for a mailbox that can be neither asked nor opened. */
async function stateOf(client: ImapFlow, path: string): Promise<BoxState | undefined> {
  const highestModseq = client.capabilities.has('QRESYNC');
  const status = await client.status(path, { messages: true, uidNext: true, uidValidity: true, highestModseq });
  if (status === false) {
    if (client.usable && !(await canOpen(client, path))) return undefined;
    throw transient(`The server did not tell the state of ${JSON.stringify(path)}.`);
  }
  const { messages, uidNext, uidValidity } = status;
  if (messages === undefined || uidValidity === undefined) {
    throw transient(`The server did not count the mails of ${JSON.stringify(path)}.`);
  }
  // 0 says that the mailbox keeps none (RFC 7162 section 3.1.2.2).
  const modseq = status.highestModseq ? String(status.highestModseq) : null;
  return [path, String(uidValidity), messages, uidNext ?? (await nextUid(client, path)), modseq];
}

export async function canOpen(client: ImapFlow, path: string): Promise<boolean> {
  try {
    await openBox(client, path);
    return true;
  } catch (error) {
    if (isRefusal(error)) return false;
    throw error;
  }
}

/** For servers that leave UIDNEXT out. */
async function nextUid(client: ImapFlow, path: string): Promise<number> {
  const uids = await allUids(client, await openBox(client, path));
  return (uids.at(-1) ?? 0) + 1;
}
