import { cursorExpired, transient, type Context, type Page, type Partition } from 'memoryd/connector';
import { arrivalsSince } from './arrivals.ts';
import type { ImapConfig } from './config.ts';
import { threadRef } from './map.ts';
import { readPosition, type Position } from './positions.ts';
import { knownOf, scanOf } from './scan.ts';
import { revOf, type Thread } from './threads.ts';

/** Where a listing or the mailboxes stand. A type, not an interface: it must be assignable to `Json`. */
export type MailCursor = { listed: number; stamp: string } | Position;

const threadsPerPage = 500;

/** One page of threads, the newest first. Throws `CursorExpired` when the threads changed between two pages. */
export async function listPage(
  ctx: Context<ImapConfig>,
  _partition: Partition,
  from: MailCursor | undefined,
  pageSize = threadsPerPage,
): Promise<Page<MailCursor>> {
  const known = await knownOf(ctx);
  delete known.rescan;
  const { threads, stamp, isSteady } = await scanOf(ctx, from === undefined);
  const listed = from !== undefined && 'listed' in from ? from.listed : 0;
  if (from !== undefined && (!('stamp' in from) || from.stamp !== stamp)) {
    throw cursorExpired('The mailboxes changed since the listing began.');
  }
  const end = listed + pageSize;
  const refs = threads.slice(listed, end).map(threadRef);
  const total = threads.length;
  if (end < total) return { refs, next: { listed: end, stamp }, total };
  if (!isSteady) return { refs, done: true, total, incomplete: 'Mail kept moving while it was listed.' };
  if (known.parked !== undefined) known.base = { state: known.parked, threads };
  return { refs, done: true, total };
}

export async function headOf(ctx: Context<ImapConfig>): Promise<MailCursor> {
  const latest = await readPosition(ctx);
  Object.assign(await knownOf(ctx), { latest, parked: latest.position.state });
  return latest.position;
}

/**
 * What came, went or changed. A mail never changes, so that the number of mails, the next UID and the
 * UIDVALIDITY of each mailbox tell whether anything did, on servers with and without CONDSTORE. After a
 * listing of this run the threads are compared with those that it showed. Otherwise mails that only
 * came are looked up with their relatives; when some went as well, `CursorExpired` lists all anew, and
 * what is unchanged is not downloaded.
 */
export async function changesSince(
  ctx: Context<ImapConfig>,
  _partition: Partition,
  from: MailCursor,
): Promise<Page<MailCursor>> {
  const latest = await readPosition(ctx);
  const now = latest.position;
  if (!('state' in from)) throw cursorExpired('The position is that of a listing.');
  if (from.state === now.state) return { refs: [], next: now, done: true };
  const known = await knownOf(ctx);
  delete known.rescan;
  known.latest = latest;
  if (known.base?.state === from.state) {
    const { threads, isSteady } = await scanOf(ctx, true);
    if (!isSteady) throw transient('Mail kept moving while it was read.');
    const page = difference(known.base.threads, threads);
    known.base = { state: now.state, threads };
    return { ...page, next: now, done: true };
  }
  const page = await arrivalsSince(ctx, from, now);
  return { ...page, next: now, done: true };
}

/** Threads that are new or have another rev, and ids that are there no more. */
function difference(before: readonly Thread[], after: readonly Thread[]): Pick<Page, 'refs'> & { gone: string[] } {
  const revs = new Map(before.map(({ id, members }) => [id, revOf(members)]));
  const refs = [];
  for (const thread of after) {
    if (revs.get(thread.id) !== revOf(thread.members)) refs.push(threadRef(thread));
    revs.delete(thread.id);
  }
  return { refs, gone: [...revs.keys()] };
}
