import { hash } from 'node:crypto';
import type { ImapFlow } from 'imapflow';
import type { Context } from 'memoryd/connector';
import { openMail } from './client.ts';
import type { ImapConfig } from './config.ts';
import { copyQuery, toCopy } from './copies.ts';
import { chooseMailboxes } from './mailboxes.ts';
import { allUids, fetchPresent, openBox } from './requests.ts';
import { createThreading, revOf, type Thread, type Threading } from './threads.ts';

const mailsPerRequest = 500;

/** Everything that the mailboxes hold at some moment. */
export interface Scan {
  threads: Thread[];
  /** Equal when two scans found the same threads in the same order. */
  stamp: string;
}

/** What a run knows of the account. */
export interface Known {
  /** The last scan, also while it goes on. */
  scan?: Promise<Scan>;
  /** The position that was taken before the listing of this run. */
  parked?: string;
  /** What the ledger holds at a position: the end of a listing, or of changes. */
  base?: { state: string; threads: readonly Thread[] };
}

export function knownOf(ctx: Context<ImapConfig>): Promise<Known> {
  return ctx.session('known', async (): Promise<Known> => ({}));
}

/** Threads of this run: those of its listing, or of a scan made for the first `fetch` of a run without one. */
export async function scanOf(ctx: Context<ImapConfig>, again: boolean): Promise<Scan> {
  const known = await knownOf(ctx);
  if (known.scan === undefined || again) {
    const scan = scanMailboxes(ctx);
    known.scan = scan;
    scan.catch(() => {
      if (known.scan === scan) delete known.scan;
    });
  }
  return known.scan;
}

async function scanMailboxes(ctx: Context<ImapConfig>): Promise<Scan> {
  const mail = await openMail(ctx);
  const paths = await mail.use((client) => chooseMailboxes(client, ctx));
  const threading = createThreading();
  for (const path of paths) {
    ctx.signal.throwIfAborted();
    await mail.use((client) => scanMailbox(client, path, threading));
  }
  const threads = threading.threads();
  return { threads, stamp: stampOf(threads) };
}

function stampOf(threads: readonly Thread[]): string {
  return hash('sha256', threads.map(({ id, members }) => `${id} ${revOf(members)}`).join('\n'), 'hex').slice(0, 32);
}

/** Every mail of a mailbox, the newest first, as many requests as there are 500 UIDs. */
async function scanMailbox(client: ImapFlow, path: string, threading: Threading): Promise<void> {
  const box = await openBox(client, path);
  const { uidValidity } = box;
  const uids = await allUids(client, box);
  for (let end = uids.length; end > 0; end -= mailsPerRequest) {
    const asked = uids.slice(Math.max(0, end - mailsPerRequest), end);
    const shared = { path, uidValidity };
    for (const answer of await fetchPresent(client, path, asked, copyQuery)) threading.add(toCopy(shared, answer));
  }
}
