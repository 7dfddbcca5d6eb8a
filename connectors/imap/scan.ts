import { hash } from 'node:crypto';
import type { ImapFlow } from 'imapflow';
import type { Context, Partition, Ref, UnreadPart } from 'memoryd/connector';
import { openMail } from './client.ts';
import { closedPart, hideClosed, isRefusal, nothingHidden, type Hidden } from './closed.ts';
import type { ImapConfig } from './config.ts';
import { tellApart } from './contents.ts';
import { copyQuery, toCopies } from './copies.ts';
import { readTold, type KnownBoxes } from './known.ts';
import { hiddenRef, threadRef } from './map.ts';
import { createListed, type Listed, type ScannedBox } from './listed.ts';
import { readPosition, type Position } from './positions.ts';
import { allUids, fetchPresent, openBox, toUidSet } from './requests.ts';
import { createThreading, revOf, type Box, type Copy, type Thread, type Threading } from './threads.ts';

const mailsPerRequest = 500;

/** Everything that the mailboxes hold at some moment. */
export interface Scan {
  threads: Thread[];
  listed: Listed;
  /** Equal when two scans found the same threads in the same order, and all mails at the same places. */
  stamp: string;
  /** Nothing came, went or moved meanwhile, so that what it does not show is not there. */
  isSteady: boolean;
  /** Mailboxes that the server does not open. */
  closed: UnreadPart[];
  hidden: Hidden;
}

/** A thread as it is told, by what a scan could see of it. */
export function refOf({ hidden }: Pick<Scan, 'hidden'>, thread: Thread): Ref {
  return hidden.threads.has(thread.id) ? hiddenRef(thread) : threadRef(thread);
}

/** A run's knowledge of the account. */
export interface Known {
  /** The last scan, also while it goes on. */
  scan?: Promise<Scan>;
  /** One made because mails were no longer where the listing showed them. */
  rescan?: Promise<Scan>;
  /** The last position, until a scan begins with it. */
  latest?: { position: Position; paths: string[] };
  /** The position that was taken before the listing of this run. */
  parked?: string;
  /** The ledger's state at a position: the end of a listing, or of changes. */
  base?: { state: string; scan: Pick<Scan, 'threads' | 'hidden'> };
}

export function knownOf(ctx: Context<ImapConfig>): Promise<Known> {
  return ctx.session('known', async (): Promise<Known> => ({}));
}

/** Threads of this run: those of its listing, or of a scan made for the first `fetch` of a run without one. */
export async function scanOf(ctx: Context<ImapConfig>, partition: Partition, again: boolean): Promise<Scan> {
  const known = await knownOf(ctx);
  if (known.scan === undefined || again) {
    const scan = scanMailboxes(ctx, partition);
    known.scan = scan;
    scan.catch(() => {
      if (known.scan === scan) delete known.scan;
    });
  }
  return known.scan;
}

/** A scan that is younger than what the run was last told, by a page or a position. */
export async function rescanOf(ctx: Context<ImapConfig>, partition: Partition): Promise<Scan> {
  const known = await knownOf(ctx);
  if (known.rescan === undefined) {
    const rescan = scanMailboxes(ctx, partition);
    known.rescan = rescan;
    rescan.catch(() => delete known.rescan);
  }
  return known.rescan;
}

/** A mail that moves into a mailbox that was read already is in none: so it is read again, a few times. */
const maxAttempts = 3;

async function scanMailboxes(ctx: Context<ImapConfig>, partition: Partition): Promise<Scan> {
  const known = await knownOf(ctx);
  const told = await readTold(ctx, partition);
  let { position, paths } = known.latest ?? (await readPosition(ctx));
  delete known.latest;
  for (let attempt = 1; ; attempt++) {
    const { threads, boxes, closed, isTold } = await readMailboxes(ctx, paths, told);
    const after = await readPosition(ctx);
    const isSteady = isTold && after.position.state === position.state;
    if (isSteady || attempt === maxAttempts) {
      const hidden =
        closed.length === 0
          ? nothingHidden
          : hideClosed(
              threads,
              boxes.map(({ box }) => box),
              told,
            );
      const shut = closed.map(({ path }) => path);
      const stamp = stampOf(threads, boxes, shut);
      return { threads, listed: createListed(boxes, threads, told, shut), stamp, isSteady, closed, hidden };
    }
    ({ position, paths } = after);
  }
}

async function readMailboxes(
  ctx: Context<ImapConfig>,
  paths: readonly string[],
  told: KnownBoxes,
): Promise<{ threads: Thread[]; boxes: ScannedBox[]; closed: UnreadPart[]; isTold: boolean }> {
  const mail = await openMail(ctx);
  const threading = createThreading();
  const boxes: ScannedBox[] = [];
  const closed: UnreadPart[] = [];
  for (const path of paths) {
    ctx.signal.throwIfAborted();
    try {
      boxes.push(await mail.use((client) => scanMailbox(client, path, threading)));
    } catch (error) {
      // A server that opens none at all is not to be read for now.
      if (!isRefusal(error) || paths.length === closed.length + 1) throw error;
      closed.push(closedPart(path, error));
    }
  }
  const isTold = await tellApart(ctx, threading.groups(), told);
  return { threads: threading.threads(), boxes, closed, isTold };
}

function stampOf(threads: readonly Thread[], boxes: readonly ScannedBox[], closed: readonly string[]): string {
  const lines = threads.map(({ id, members }) => `${id} ${revOf(members)}`);
  const places = boxes.map(({ box, copies }) => {
    return `${box.path} ${box.uidValidity} ${toUidSet(copies.map(({ uid }) => uid))}`;
  });
  return hash('sha256', [...lines, ...places, ...closed].join('\n'), 'hex').slice(0, 32);
}

/** Every mail of a mailbox, the newest first, as many requests as there are 500 UIDs. */
async function scanMailbox(client: ImapFlow, path: string, threading: Threading): Promise<ScannedBox> {
  const open = await openBox(client, path);
  const box: Box = { path, uidValidity: open.uidValidity };
  const uids = await allUids(client, open);
  const copies: Copy[] = [];
  for (let end = uids.length; end > 0; end -= mailsPerRequest) {
    const asked = uids.slice(Math.max(0, end - mailsPerRequest), end);
    const answers = await fetchPresent(client, path, asked, copyQuery);
    for (const copy of await toCopies(client, box, answers)) copies.push(threading.add(copy));
  }
  return { box, copies: copies.sort((a, b) => a.uid - b.uid) };
}
