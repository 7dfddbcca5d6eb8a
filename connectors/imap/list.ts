import { ConnectorError, cursorExpired, transient, type Context, type Page, type Partition } from 'memoryd/connector';
import { changesIn } from './changed.ts';
import type { ImapConfig } from './config.ts';
import { nextRecords } from './listed.ts';
import { threadRef } from './map.ts';
import { readPosition, type Position } from './positions.ts';
import { knownOf, scanOf } from './scan.ts';
import { revOf, type Thread } from './threads.ts';

/** Where a listing or the mailboxes stand. A type, not an interface: it must be assignable to `Json`. */
export type MailCursor = { listed: number; recorded: number; stamp: string } | Position;

const threadsPerPage = 500;

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
  const { threads, listed, stamp, isSteady } = scan;
  if (from !== undefined && (!('stamp' in from) || from.stamp !== stamp)) {
    throw cursorExpired('The mailboxes changed since the listing began.');
  }
  const [start, recorded] = from === undefined ? [0, 0] : [from.listed, from.recorded];
  const next = { listed: start + pageSize, recorded: nextRecords(recorded), stamp };
  const total = threads.length;
  const page = { refs: threads.slice(start, next.listed).map(threadRef), total, records: listed.records(recorded) };
  if (next.listed < total || next.recorded < listed.count) return { ...page, next };
  if (!isSteady) return { ...page, done: true, incomplete: 'Mail kept moving while it was listed.' };
  if (known.parked !== undefined) known.base = { state: known.parked, threads };
  return { ...page, done: true, records: { ...page.records, ...(await listed.last(ctx, partition)) } };
}

export async function headOf(ctx: Context<ImapConfig>): Promise<MailCursor> {
  const latest = await readPosition(ctx);
  Object.assign(await knownOf(ctx), { latest, parked: latest.position.state });
  return latest.position;
}

/**
 * What came, went or changed. A mail never changes, so that the number of mails, the next UID and the
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
  if (from.state === latest.position.state) return { refs: [], next: latest.position, done: true };
  const known = await knownOf(ctx);
  delete known.rescan;
  known.latest = latest;
  try {
    return { ...(await changesIn(ctx, partition, from, latest.position)), done: true };
  } catch (error) {
    // Right after a listing of this run another one would show no more than is known already.
    const isListed = known.base?.state === from.state;
    if (!isListed || !ConnectorError.is(error) || error.kind !== 'cursor_expired') throw error;
    return relist(ctx, partition, latest.position);
  }
}

/** Everything once more, against what the listing of this run showed. */
async function relist(ctx: Context<ImapConfig>, partition: Partition, now: Position): Promise<Page<MailCursor>> {
  const { threads, listed, isSteady } = await scanOf(ctx, partition, true);
  if (!isSteady) throw transient('Mail kept moving while it was read.');
  const known = await knownOf(ctx);
  const { threads: before } = known.base!;
  known.base = { state: now.state, threads };
  const records = await listed.all(ctx, partition);
  return { ...difference(before, threads), records, next: now, done: true };
}

/** Threads that are new or have another rev, and ids that are there no more. */
function difference(before: readonly Thread[], after: readonly Thread[]): Pick<Page, 'refs'> & { missing: string[] } {
  const revs = new Map(before.map(({ id, members }) => [id, revOf(members)]));
  const refs = [];
  for (const thread of after) {
    if (revs.get(thread.id) !== revOf(thread.members)) refs.push(threadRef(thread));
    revs.delete(thread.id);
  }
  return { refs, missing: [...revs.keys()] };
}
