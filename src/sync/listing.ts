import { settleCoverage } from './coverage.ts';
import { type LeftOut, startPass } from '../store/partial-listings.ts';
import { moveToEpoch } from '../store/listed-pages.ts';
import { markUnseen, matchRenames, type Unseen } from '../store/sync-items.ts';
import {
  countListed,
  finishListing,
  listingCheckpoint,
  noCheckpoint,
  readPass,
  restartListing,
  startListing,
  type HeldSweep,
  type ListingPass,
  type PartitionRow,
} from '../store/partitions.ts';
import { createPageGuard, maxUnread, unreadMessage, type CheckedPage, type PageGuard } from './check-page.ts';
import { ConnectorError, type ConnectorSpec, type Json, type UnreadPart } from '../connector/contract.ts';
import { askAboutLeftOut, settleLeftOut } from './unlisted-items.ts';
import { recordDifferences, recordListed, dropStrayContents, keepContents } from './checkpoint.ts';
import { settleMissing, sweep } from './removal.ts';
import type { Sql } from '../store/sql.ts';
import type { Ledger, PartitionRun } from './run.ts';
import { hash } from 'node:crypto';

/** A source that forgets where its listing was, again and again, is listed from the start this often. */
const maxRestarts = 3;

/** Interval of writing down items shown unchanged, so that a listing of hours goes on where it stopped. */
const noteEveryMs = 15_000;

/** A page with changes saves them as well, when there are at most this many for each change. */
const notedForEach = 10;

/** The most ids that are held in memory. */
const mostShown = 250_000;
const idsPerStatement = 10_000;

interface Listing extends PartitionRun {
  epoch: number;
  cursor: Json | undefined;
  incomplete: string | null;
  /** By path. */
  unread: Map<string, UnreadPart>;
  guard: PageGuard;
  /** Items of this run, to tell how many there are in all. */
  seen: number;
  /** Pages recorded in this run. */
  pages: number;
  /** Which of several listings it is, from 0. */
  pass: number;
  restarts: number;
  shown: Shown | null;
}

/**
 * Items that a listing has shown unchanged since its last checkpoint. They are only written down when that matters:
 * when the listing takes long, or has not shown everything. Null where every page is written, as it is new.
 */
interface Shown {
  ids: Set<string>;
  notedAtMs: number;
}

interface ListingOptions {
  /** Called after each page, when its items can be fetched, and told whether any is new or changed. */
  onPage(isNew?: boolean): void;
  /** The feed was just read up to the row's stored cursor, and is continued from there after the listing. */
  follows: boolean;
}

/**
 * Lists a partition from where it stopped to its end, then sweeps what the listing no longer shows.
 * The feed's cursor is taken before the first page, so that changes during the listing are replayed after it.
 * Answers whether an earlier run read its first pages.
 */
export async function listPartition(
  part: PartitionRun,
  row: PartitionRow,
  { onPage, follows }: ListingOptions,
): Promise<boolean> {
  const resuming = row.listingStartedAt !== null && row.listedFor === selectionKey(part, row);
  const listing: Listing = {
    ...part,
    epoch: resuming ? row.epoch : await part.inSlot(() => begin(part, row, follows)),
    cursor: (resuming ? (row.listingCursor ?? undefined) : undefined) as Json | undefined,
    incomplete: resuming ? row.listingIncomplete : null,
    unread: new Map((resuming ? row.listingUnread : []).map((part) => [part.path, part])),
    guard: createPageGuard('list'),
    seen: 0,
    pages: 0,
    pass: (resuming ? row.listingPass : null) ?? 0,
    restarts: 0,
    shown: mayNoteLater(part.source.spec, row)
      ? { ids: new Set(), notedAtMs: part.ledger.clock.now().getTime() }
      : null,
  };
  // A run that was stopped at the very end has nothing more to read.
  if (!resuming || !row.listingShown) await readPages(listing, onPage);
  while (await part.inSlot(() => repeatListing(listing))) {
    Object.assign(listing, { seen: 0, pass: listing.pass + 1, guard: createPageGuard('list') });
    await readPages(listing, onPage);
  }
  if (!resuming) part.ledger.report.total(part.partition.id, listing.seen);
  await finish(listing, resuming);
  onPage();
  return resuming && (row.listingShown || row.listingCursor !== null);
}

/**
 * Whether items that are shown unchanged, and the cursor, need not be saved with every page: the partition was listed
 * before, its listings are complete, and the connector declares no limits, so that pages may be read again after a crash.
 */
function mayNoteLater(spec: ConnectorSpec, row: PartitionRow): boolean {
  return row.lastListedAt !== null && spec.listing !== 'partial' && spec.limits === undefined;
}

/** Concludes what is gone from what the listing has not shown. */
async function finish(listing: Listing, resumed: boolean): Promise<void> {
  if (!listing.ledger.isPartial) return listing.inSlot(() => end(listing, resumed));
  const which = leftOutOf(listing);
  if (listing.incomplete === null) await askAboutLeftOut(listing, which);
  return listing.inSlot(() => endPartial(listing, which));
}

const leftOutOf = ({ epoch, unread }: Listing): LeftOut => ({ epoch, except: [...unread.keys()] });

async function readPages(listing: Listing, onPage: (isNew?: boolean) => void): Promise<void> {
  let page = list(listing, listing.cursor);
  for (let done = false; !done;) {
    // The first page of a first sync brings the items that are read before all others.
    const priority = listing.pages === 0 && listing.priority === 'bulk' ? 'first' : listing.priority;
    let isNew = false;
    const step = async () => {
      const current = await page;
      listing.ledger.signal.throwIfAborted();
      listing.guard.pass(listing.cursor, current);
      done = current.done || current.next === undefined;
      listing.cursor = done ? undefined : current.next;
      // The next page is read while this one is recorded.
      if (!done) page = list(listing, listing.cursor);
      isNew = await recordPage(listing, current, done);
    };
    try {
      await listing.inSlot(step, priority);
      onPage(isNew);
    } catch (error) {
      await restart(listing, error);
      page = list(listing, undefined);
    }
  }
}

/** One page. Its failure is seen when it is awaited, which may be after that of the page before. */
function list({ source, partition, pass }: Listing, cursor: Json | undefined): Promise<CheckedPage> {
  const page = source.list(partition, cursor, pass);
  page.catch(() => {});
  return page;
}

/** A listing whose cursor the source has forgotten begins again in the same epoch: nothing is lost by that. */
async function restart(listing: Listing, error: unknown): Promise<void> {
  const isForgotten = ConnectorError.is(error) && error.kind === 'cursor_expired' && listing.cursor !== undefined;
  if (!isForgotten || listing.restarts >= maxRestarts) throw error;
  const { key, lease, clock, log } = listing.ledger;
  log.info({ connectionId: key.connectionId }, 'cursor of the listing expired, listing from the start');
  listing.restarts += 1;
  listing.seen = 0;
  listing.cursor = undefined;
  listing.guard = createPageGuard('list');
  await lease.write((tx) => restartListing(tx, key, clock.now()));
}

/** Answers whether anything is new or changed. */
async function recordPage(listing: Listing, page: CheckedPage, isLast: boolean): Promise<boolean> {
  const { ledger } = listing;
  const { key, report } = ledger;
  if (page.incomplete !== undefined) {
    listing.incomplete ??= page.incomplete;
    report.warn(
      key.partitionId,
      'incomplete_listing',
      `Nothing is removed, because the listing is not complete: ${page.incomplete}`,
    );
  }
  noteUnread(listing, page.unread);
  const now = ledger.clock.now();
  const { incomplete } = listing;
  const unread = [...listing.unread.values()];
  const place = { cursor: listing.cursor ?? null, incomplete, unread, shown: isLast, now };
  const checkpoint = listingCheckpoint(key, place);
  await keepContents(ledger, page.refs);
  const news = await recordRefs(listing, page, checkpoint);
  const isMarred = page.incomplete !== undefined || page.unread.length > 0;
  if (isMarred || (!isLast && isToBeNoted(listing, news))) await noteShown(listing, checkpoint);
  listing.seen += page.refs.length;
  listing.pages += 1;
  if (page.total !== undefined) report.total(key.partitionId, page.total);
  return news > 0;
}

/** Answers how many are new or changed. */
async function recordRefs(listing: Listing, page: CheckedPage, checkpoint: Sql): Promise<number> {
  const { ledger, epoch, shown } = listing;
  const rows = listing.settings.pageRows;
  const last = Math.max(0, Math.ceil(page.refs.length / rows) - 1);
  let news = 0;
  for (let slice = 0; slice <= last; slice++) {
    const refs = page.refs.length <= rows ? page.refs : page.refs.slice(slice * rows, (slice + 1) * rows);
    const part = { ...page, refs, records: slice === last ? page.records : {} };
    const place = slice === last && !shown ? checkpoint : noCheckpoint(ledger.key, ledger.clock.now());
    const { added, changed } = shown
      ? await recordDifferences(ledger, part, { epoch, checkpoint: place, shown: shown.ids })
      : await recordListed(ledger, part, { epoch, checkpoint: place });
    news += added + changed;
  }
  return news;
}

function isToBeNoted({ shown, ledger }: Listing, differing: number): boolean {
  if (!shown) return false;
  if (differing > 0 && shown.ids.size <= notedForEach * differing) return true;
  return shown.ids.size >= mostShown || ledger.clock.now().getTime() - shown.notedAtMs >= noteEveryMs;
}

/** Writes down what was shown unchanged, with the checkpoint up to which it holds. */
async function noteShown({ ledger, epoch, shown }: Listing, checkpoint?: Sql): Promise<void> {
  if (!shown) return;
  const { key, lease, clock } = ledger;
  const ids = [...shown.ids];
  for (let start = 0; start < ids.length; start += idsPerStatement) {
    const some = ids.slice(start, start + idsPerStatement);
    await lease.write((tx) => moveToEpoch(tx, key, some, epoch));
  }
  if (checkpoint) await lease.write((tx) => tx.execute(checkpoint));
  shown.ids.clear();
  shown.notedAtMs = clock.now().getTime();
}

function noteUnread(listing: Listing, parts: readonly UnreadPart[]): void {
  if (parts.length === 0) return;
  for (const part of parts) if (listing.unread.size < maxUnread) listing.unread.set(part.path, part);
  const isTold = parts.every(({ path }) => listing.unread.has(path));
  if (!isTold) listing.incomplete ??= `More than ${maxUnread} parts could not be read.`;
  listing.ledger.report.warn(listing.partition.id, 'incomplete_listing', unreadMessage([...listing.unread.values()]));
}

async function begin(part: PartitionRun, row: PartitionRow, follows: boolean): Promise<number> {
  const { source, partition, ledger } = part;
  const head = follows ? row.changesCursor : await source.head(partition);
  const now = ledger.clock.now();
  const kind = { relist: row.lastListedAt !== null, isRepeated: isRepeated(part, row, follows) };
  const options = { ...kind, head, listedFor: selectionKey(part, row), now };
  return ledger.lease.write((tx) => startListing(tx, ledger.key, options));
}

async function end(listing: Listing, resumed: boolean): Promise<void> {
  const { ledger, epoch, incomplete } = listing;
  const { key, runId, lease, clock } = ledger;
  const { isAll, ...listed } = await countShown(listing);
  const except = [...listing.unread.keys()];
  const missing = { notSeenIn: incomplete === null && !isAll ? epoch : 0, except };
  await lease.write((tx) => matchRenames(tx, key, missing, clock.now()));
  // Only now is it certain that no other run has moved the items that were counted.
  if (!resumed && listing.restarts === 0) findRepeated(listing, listed);
  const swept = incomplete === null && { heldSweep: isAll ? null : await removeUnseen(ledger, missing) };
  await settleCoverage(ledger);
  await dropStrayContents(ledger);
  const ending = { ...swept, runId, now: clock.now() };
  await lease.write((tx) => finishListing(tx, key, ending));
}

/**
 * Ledger rows that the listing has shown, and whether these are all. If they are not, they are written down, to see
 * which were not shown.
 */
async function countShown(listing: Listing): Promise<{ rows: number; removed: number; isAll: boolean }> {
  const { ledger, epoch } = listing;
  const shown = [...(listing.shown?.ids ?? [])];
  const { rows, missing, removed } = await countListed(ledger.database, ledger.key, {
    epoch,
    runId: ledger.runId,
    shown,
  });
  if (missing > 0) await noteShown(listing);
  return { rows, removed, isAll: missing === 0 };
}

/** Only what look-ups did not find goes: that the listing left something out proves nothing. */
async function endPartial({ ledger, incomplete }: Listing, which: LeftOut): Promise<void> {
  const { key, runId, lease, clock } = ledger;
  const settled = incomplete === null ? await settleLeftOut(ledger, which, { isListed: true }) : {};
  if (incomplete !== null) await settleNothing(ledger);
  await dropStrayContents(ledger);
  const ending = { ...settled, runId, now: clock.now() };
  await lease.write((tx) => finishListing(tx, key, ending));
}

/** New items that wait to be seen as renamed ones are free, although nothing is known to be gone. */
async function settleNothing(ledger: Ledger): Promise<void> {
  const { key, lease, clock } = ledger;
  await lease.write((tx) => matchRenames(tx, key, 'reported', clock.now()));
  await settleCoverage(ledger);
}

/** Removes what a complete listing has not shown, unless that is too much; answers what is held then. */
async function removeUnseen(ledger: Ledger, which: Unseen): Promise<HeldSweep | null> {
  const { key, lease, clock } = ledger;
  await lease.write((tx) => markUnseen(tx, key, which, clock.now()));
  const held = await settleMissing(ledger, { isListed: true });
  if (held === null) await sweep(ledger, which);
  return held;
}

/** Items that came again on a later page left no row of their own. */
function findRepeated({ ledger, seen }: Listing, { rows, removed }: { rows: number; removed: number }): void {
  const repeated = seen - rows - removed;
  if (repeated <= 0) return;
  const message = `The listing showed ${seen} items, and ${repeated} of them more than once. Each is mirrored once; which rev is right is left to chance. This is to be mended in the connector.`;
  ledger.report.warn(ledger.key.partitionId, 'repeated_items', message);
}

/**
 * Whether one listing is not enough: nothing else would find what a partial one leaves out, because nothing was
 * mirrored before, or because the feed of changes has a gap.
 */
function isRepeated({ source, ledger }: PartitionRun, row: PartitionRow, follows: boolean): boolean {
  if (!ledger.isPartial) return false;
  return row.lastListedAt === null || (source.has('changes') && !follows);
}

/** Begins the next listing of the same epoch, unless those until now have settled what there is. */
async function repeatListing({ ledger, settings }: Listing): Promise<boolean> {
  const { key, database, lease, clock, report } = ledger;
  const pass = await readPass(database, key);
  if (pass === null || isSettled(pass)) return false;
  if (pass.pass + 1 >= settings.maxListings) {
    const message = `${pass.pass + 1} listings in a row did not settle what there is: each may have left out something else. What is missing is found by a later listing, or when it changes.`;
    report.warn(key.partitionId, 'listing_unsteady', message);
    return false;
  }
  await lease.write((tx) => startPass(tx, key, clock.now()));
  return true;
}

/** The second listing agrees with the first; or, when it did not, two in a row bring nothing new. */
function isSettled({ pass, news, quiet }: ListingPass): boolean {
  if (pass === 0 || news > 0) return false;
  return pass === 1 || quiet >= 1;
}

/**
 * Names the selection that a listing of a partition depends on: that of a connector which itself tells what of the
 * partition is selected. '' where it makes no difference: for one that mirrors everything, for a partition that is a
 * resource, and where places in a tree decide.
 */
export function selectionKey({ source, ledger }: PartitionRun, { resource }: PartitionRow): string {
  const { selection } = ledger.connection;
  if (selection.length === 0 || resource !== null || source.spec.scope === 'tree') return '';
  return hash('sha256', JSON.stringify(selection.map(({ id }) => String(id)).toSorted()), 'base64url');
}
