import { ConnectorError, cursorExpired, transient, type Context, type Page, type Partition } from 'memoryd/connector';
import { changesIn } from './changed.ts';
import { isRefusal } from './closed.ts';
import type { ImapConfig } from './config.ts';
import { nextRecords } from './listed.ts';
import { openMail } from './client.ts';
import { readClosed } from './known.ts';
import { canOpen, readPosition, type Position } from './positions.ts';
import { knownOf, refOf, scanOf, type Scan } from './scan.ts';

/** Where a listing or the mailboxes stand. A type, not an interface: it must be assignable to `Json`. */
export type MailCursor = { listed: number; recorded: number; stamp: string } | Position;

const threadsPerPage = 500;
const notWhole = 'Mails went of threads of which others lie in mailboxes that the server does not open.';

/**
 * One page of threads, the newest first, and of the records that say in which thread each mail is. Throws
 * `CursorExpired` when the mailboxes changed between two pages.
 */
export async function listPage(
  ctx: Context<ImapConfig>,
  partition: Partition,
  from: MailCursor | undefined,
  pageSize = threadsPerPage,
): Promise<Page<MailCursor>> {
  const known = await knownOf(ctx);
  delete known.rescan;
  const scan = await scanOf(ctx, partition, from === undefined);
  const { threads, listed, stamp, isSteady, closed, hidden } = scan;
  if (from !== undefined && (!('stamp' in from) || from.stamp !== stamp)) {
    throw cursorExpired('The mailboxes changed since the listing began.');
  }
  const [start, recorded] = from === undefined ? [0, 0] : [from.listed, from.recorded];
  const next = { listed: start + pageSize, recorded: nextRecords(recorded), stamp };
  const total = threads.length;
  const refs = threads.slice(start, next.listed).map((thread) => refOf(scan, thread));
  const unread = closed.length === 0 ? {} : { unread: closed };
  const page = { refs, total, records: listed.records(recorded), ...unread };
  if (next.listed < total || next.recorded < listed.count) return { ...page, next };
  if (!isSteady) return { ...page, done: true, incomplete: 'Mail kept moving while it was listed.' };
  if (known.parked !== undefined) known.base = { state: known.parked, scan };
  const records = { ...page.records, ...(await listed.last(ctx, partition)) };
  return { ...page, done: true, records, ...(hidden.isWhole ? {} : { incomplete: notWhole }) };
}

export async function headOf(ctx: Context<ImapConfig>): Promise<MailCursor> {
  const latest = await readPosition(ctx);
  Object.assign(await knownOf(ctx), { latest, parked: latest.position.state });
  return latest.position;
}

/**
 * Lists arrivals, departures and changes. A mail never changes, so that the number of mails, the next UID and the
 * UIDVALIDITY of each mailbox tell whether anything did, on servers with and without CONDSTORE. Then the
 * mails are compared with those that the ledger was told of, and only the threads of those that came or went
 * are read. Throws `CursorExpired` when that does not add up: a listing shows what is there, and what is
 * unchanged is not downloaded.
 */
export async function changesSince(
  ctx: Context<ImapConfig>,
  partition: Partition,
  from: MailCursor,
): Promise<Page<MailCursor>> {
  const latest = await readPosition(ctx);
  if (!('state' in from)) throw cursorExpired('The position is that of a listing.');
  if (from.state === latest.position.state) {
    if (await opensAgain(ctx, partition, latest.position)) throw cursorExpired('A mailbox can be opened again.');
    return { refs: [], next: latest.position, done: true };
  }
  const known = await knownOf(ctx);
  delete known.rescan;
  known.latest = latest;
  try {
    return { ...(await changesIn(ctx, partition, from, latest.position)), done: true };
  } catch (error) {
    // Right after a listing of this run another one would show no more than is known already.
    const isListed = known.base?.state === from.state;
    const isExpired = ConnectorError.is(error) && error.kind === 'cursor_expired';
    if (!isExpired && !isRefusal(error)) throw error;
    if (!isListed) throw isExpired ? error : cursorExpired('A mailbox cannot be opened any more.');
    return relist(ctx, partition, latest.position);
  }
}

/** Whether a mailbox that was closed to the last listing is open now, though its state is as it was. */
async function opensAgain(ctx: Context<ImapConfig>, partition: Partition, { closed = [] }: Position): Promise<boolean> {
  const mail = await openMail(ctx);
  for (const path of await readClosed(ctx, partition)) {
    if (!closed.includes(path) && (await mail.use((client) => canOpen(client, path)))) return true;
  }
  return false;
}

/** Everything once more, against what the listing of this run showed. */
async function relist(ctx: Context<ImapConfig>, partition: Partition, now: Position): Promise<Page<MailCursor>> {
  const scan = await scanOf(ctx, partition, true);
  if (!scan.isSteady) throw transient('Mail kept moving while it was read.');
  const known = await knownOf(ctx);
  const { scan: before } = known.base!;
  known.base = { state: now.state, scan };
  const records = await scan.listed.all(ctx, partition);
  return { ...difference(before, scan), records, next: now, done: true };
}

/** Threads that are new or have another rev, and ids that are there no more. */
function difference(before: Pick<Scan, 'threads' | 'hidden'>, after: Scan): Pick<Page, 'refs'> & { missing: string[] } {
  const revs = new Map(before.threads.map((thread) => [thread.id, refOf(before, thread).rev]));
  const refs = [];
  for (const thread of after.threads) {
    const ref = refOf(after, thread);
    if (revs.get(ref.id) !== ref.rev) refs.push(ref);
    revs.delete(ref.id);
  }
  const { isWhole, threads } = after.hidden;
  return { refs, missing: isWhole ? [...revs.keys()].filter((id) => !threads.has(id)) : [] };
}
