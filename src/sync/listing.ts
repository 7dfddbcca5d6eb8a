import { settleScope } from './apply-scope.ts';
import { type LeftOut, readPass, startPass, type ListingPass } from '../store/partial-listings.ts';
import { moveToEpoch } from '../store/listed-pages.ts';
import { markUnseen, matchRenames, type Unseen } from '../store/sync-items.ts';
import {
  countListed,
  finishListing,
  listingCheckpoint,
  noCheckpoint,
  restartListing,
  startListing,
  type HeldSweep,
  type PartitionKey,
  type PartitionRow,
} from '../store/partitions.ts';
import {
  checkCursor,
  checkPage,
  createPageGuard,
  type CheckedPage,
  type PageGuard,
  maxUnread,
  unreadMessage,
} from './page.ts';
import { ConnectorError, type Json, type Partition, type UnreadPart } from '../connector/contract.ts';
import { dropStrayContents, keepContents } from './kept-contents.ts';
import { askAboutLeftOut, settleLeftOut } from './left-out.ts';
import { recordDifferences, recordListed, settleMissing, sweep } from './ledger.ts';
import type { Sql } from '../store/sql.ts';
import { inTurn, keyOf, type Run, remark } from './run.ts';
import { selectionKey } from './selection.ts';

/** A source that forgets where its listing was, again and again, is listed from the start this often. */
const maxRestarts = 3;
/** Interval of writing down items shown unchanged, so that a listing of hours goes on where it stopped. */
const noteEveryMs = 15_000;
/** They are also written down with a page that differs, when they are no more than so many times what differs. */
const notedForEach = 10;
/** As many ids are held in memory. */
const mostShown = 250_000;
const idsPerStatement = 10_000;

interface Listing {
  key: PartitionKey;
  partition: Partition;
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
 */
export async function listPartition(
  run: Run,
  partition: Partition,
  row: PartitionRow,
  { onPage, follows }: ListingOptions,
): Promise<void> {
  const resuming = row.listingStartedAt !== null && row.listedFor === selectionKey(run, row);
  const listing: Listing = {
    key: keyOf(run, partition),
    partition,
    epoch: resuming ? row.epoch : await inTurn(run, () => begin(run, partition, row, follows)),
    cursor: (resuming ? (row.listingCursor ?? undefined) : undefined) as Json | undefined,
    incomplete: resuming ? row.listingIncomplete : null,
    unread: new Map((resuming ? row.listingUnread : []).map((part) => [part.path, part])),
    guard: createPageGuard('list'),
    seen: 0,
    pages: 0,
    pass: (resuming ? row.listingPass : null) ?? 0,
    restarts: 0,
    shown: isMirrored(run, row) ? { ids: new Set(), notedAtMs: run.clock.now().getTime() } : null,
  };
  // A run that was stopped at the very end has nothing more to read.
  if (!resuming || !row.listingShown) await readPages(run, listing, onPage);
  while (await inTurn(run, () => repeatListing(run, listing.key))) {
    Object.assign(listing, { seen: 0, pass: listing.pass + 1, guard: createPageGuard('list') });
    await readPages(run, listing, onPage);
  }
  if (!resuming) run.report.total(partition.id, listing.seen);
  await finish(run, listing, resuming);
  onPage();
}

/**
 * Listings that may leave something out are told from each other by what is written of them. A source that limits its
 * requests is not asked again for a page that it has shown, so each is written down with its cursor.
 */
function isMirrored({ connector: { spec } }: Run, row: PartitionRow): boolean {
  return row.lastListedAt !== null && spec.listing !== 'partial' && spec.limits === undefined;
}

/** Concludes what is gone from what the listing has not shown. */
async function finish(run: Run, listing: Listing, resumed: boolean): Promise<void> {
  if (run.connector.spec.listing !== 'partial') return inTurn(run, () => end(run, listing, resumed));
  const which = leftOutOf(listing);
  if (listing.incomplete === null) await askAboutLeftOut(run, listing.partition, which);
  return inTurn(run, () => endPartial(run, listing, which));
}

const leftOutOf = ({ epoch, unread }: Listing): LeftOut => ({ epoch, except: [...unread.keys()] });

async function readPages(run: Run, listing: Listing, onPage: (isNew?: boolean) => void): Promise<void> {
  let page = list(run, listing, listing.cursor);
  for (let done = false; !done;) {
    // The first page of a first sync brings the items that are read before all others.
    const priority = listing.pages === 0 && run.priority === 'bulk' ? 'first' : run.priority;
    let isNew = false;
    const step = async () => {
      const current = await page;
      run.signal.throwIfAborted();
      listing.guard.pass(listing.cursor, current);
      done = current.done || current.next === undefined;
      listing.cursor = done ? undefined : current.next;
      // The next page is read while this one is recorded.
      if (!done) page = list(run, listing, listing.cursor);
      isNew = await record(run, listing, current, done);
    };
    try {
      await inTurn(run, step, priority);
      onPage(isNew);
    } catch (error) {
      await restart(run, listing, error);
      page = list(run, listing, undefined);
    }
  }
}

/** One page. Its failure is seen when it is awaited, which may be after that of the page before. */
function list(run: Run, { partition, pass }: Listing, cursor: Json | undefined): Promise<CheckedPage> {
  const page = run.verbs
    .call('list', () => run.connector.list(run.context, partition, cursor, pass))
    .then((answer) => checkPage(answer, 'list'));
  page.catch(() => {});
  return page;
}

/** A listing whose cursor the source has forgotten begins again in the same epoch: nothing is lost by that. */
async function restart(run: Run, listing: Listing, error: unknown): Promise<void> {
  const isForgotten = ConnectorError.is(error) && error.kind === 'cursor_expired' && listing.cursor !== undefined;
  if (!isForgotten || listing.restarts >= maxRestarts) throw error;
  run.log.info({ connectionId: run.connection.id }, 'cursor of the listing expired, listing from the start');
  listing.restarts += 1;
  listing.seen = 0;
  listing.cursor = undefined;
  listing.guard = createPageGuard('list');
  await run.hold.write((tx) => restartListing(tx, listing.key, run.clock.now()));
}

/** Answers whether anything is new or changed. */
async function record(run: Run, listing: Listing, page: CheckedPage, isLast: boolean): Promise<boolean> {
  const { key } = listing;
  remark(run, key.partitionId, page.remarks);
  if (page.incomplete !== undefined) {
    listing.incomplete ??= page.incomplete;
    run.report.warn(
      key.partitionId,
      'incomplete_listing',
      `Nothing is removed, because the listing is not complete: ${page.incomplete}`,
    );
  }
  noteUnread(run, listing, page.unread);
  const now = run.clock.now();
  const { incomplete } = listing;
  const unread = [...listing.unread.values()];
  const place = { cursor: listing.cursor ?? null, incomplete, unread, shown: isLast, now };
  const checkpoint = listingCheckpoint(key, place);
  await keepContents(run, key, page.refs);
  const news = await recordRefs(run, listing, page, checkpoint);
  const isMarred = page.incomplete !== undefined || page.unread.length > 0;
  if (isMarred || (!isLast && isToBeNoted(run, listing, news))) await noteShown(run, listing, checkpoint);
  listing.seen += page.refs.length;
  listing.pages += 1;
  if (page.total !== undefined) run.report.total(key.partitionId, page.total);
  return news > 0;
}

/** Answers how many are new or changed. */
async function recordRefs(run: Run, listing: Listing, page: CheckedPage, checkpoint: Sql): Promise<number> {
  const { key, epoch, shown } = listing;
  const rows = run.settings.pageRows;
  const last = Math.max(0, Math.ceil(page.refs.length / rows) - 1);
  let news = 0;
  for (let slice = 0; slice <= last; slice++) {
    const refs = page.refs.length <= rows ? page.refs : page.refs.slice(slice * rows, (slice + 1) * rows);
    const part = { ...page, refs, records: slice === last ? page.records : {} };
    const place = slice === last && !shown ? checkpoint : noCheckpoint(key, run.clock.now());
    const { added, changed } = shown
      ? await recordDifferences(run, key, part, { epoch, checkpoint: place, shown: shown.ids })
      : await recordListed(run, key, part, { epoch, checkpoint: place });
    news += added + changed;
  }
  return news;
}

function isToBeNoted(run: Run, { shown }: Listing, differing: number): boolean {
  if (!shown) return false;
  if (differing > 0 && shown.ids.size <= notedForEach * differing) return true;
  return shown.ids.size >= mostShown || run.clock.now().getTime() - shown.notedAtMs >= noteEveryMs;
}

/** Writes down what was shown unchanged, with the checkpoint up to which it holds. */
async function noteShown(run: Run, { key, epoch, shown }: Listing, checkpoint?: Sql): Promise<void> {
  if (!shown) return;
  const ids = [...shown.ids];
  for (let start = 0; start < ids.length; start += idsPerStatement) {
    const some = ids.slice(start, start + idsPerStatement);
    await run.hold.write((tx) => moveToEpoch(tx, key, some, epoch));
  }
  if (checkpoint) await run.hold.write((tx) => tx.execute(checkpoint));
  shown.ids.clear();
  shown.notedAtMs = run.clock.now().getTime();
}

function noteUnread(run: Run, listing: Listing, parts: readonly UnreadPart[]): void {
  if (parts.length === 0) return;
  for (const part of parts) if (listing.unread.size < maxUnread) listing.unread.set(part.path, part);
  const isTold = parts.every(({ path }) => listing.unread.has(path));
  if (!isTold) listing.incomplete ??= `More than ${maxUnread} parts could not be read.`;
  run.report.warn(listing.key.partitionId, 'incomplete_listing', unreadMessage([...listing.unread.values()]));
}

async function begin(run: Run, partition: Partition, row: PartitionRow, follows: boolean): Promise<number> {
  const head = follows ? row.position : await readHead(run, partition);
  const now = run.clock.now();
  const kind = { relist: row.lastListedAt !== null, isRepeated: isRepeated(run, row, follows) };
  const options = { ...kind, head, listedFor: selectionKey(run, row), now };
  return run.hold.write((tx) => startListing(tx, keyOf(run, partition), options));
}

async function readHead({ connector, context, verbs }: Run, partition: Partition): Promise<Json> {
  const position = connector.head ? await verbs.call('head', () => connector.head?.(context, partition)) : null;
  return checkCursor(position, 'head') ?? null;
}

async function end(run: Run, listing: Listing, resumed: boolean): Promise<void> {
  const { key, epoch, incomplete } = listing;
  const { isAll, ...listed } = await countShown(run, listing);
  const except = [...listing.unread.keys()];
  const missing = { notSeenIn: incomplete === null && !isAll ? epoch : 0, except };
  await run.hold.write((tx) => matchRenames(tx, key, missing, run.clock.now()));
  // Only now is it certain that no other run has moved the items that were counted.
  if (!resumed && listing.restarts === 0) findRepeated(run, listing, listed);
  const swept = incomplete === null && { heldSweep: isAll ? null : await removeUnseen(run, key, missing) };
  await settleScope(run, key);
  await dropStrayContents(run, key);
  const ending = { ...swept, runId: run.id, now: run.clock.now() };
  await run.hold.write((tx) => finishListing(tx, key, ending));
}

/**
 * Ledger rows that the listing has shown, and whether these are all. If they are not, they are written down, to see
 * which were not shown.
 */
async function countShown(run: Run, listing: Listing): Promise<{ rows: number; removed: number; isAll: boolean }> {
  const { key, epoch } = listing;
  const shown = [...(listing.shown?.ids ?? [])];
  const { rows, missing, removed } = await countListed(run.database, key, { epoch, runId: run.id, shown });
  if (missing > 0) await noteShown(run, listing);
  return { rows, removed, isAll: missing === 0 };
}

/** Only what look-ups did not find goes: that the listing left something out proves nothing. */
async function endPartial(run: Run, { key, partition, incomplete }: Listing, which: LeftOut): Promise<void> {
  const settled = incomplete === null ? await settleLeftOut(run, partition, which, { isListed: true }) : {};
  if (incomplete !== null) await settleNothing(run, key);
  await dropStrayContents(run, key);
  const ending = { ...settled, runId: run.id, now: run.clock.now() };
  await run.hold.write((tx) => finishListing(tx, key, ending));
}

/** New items that wait to be seen as renamed ones are free, although nothing is known to be gone. */
async function settleNothing(run: Run, key: PartitionKey): Promise<void> {
  await run.hold.write((tx) => matchRenames(tx, key, 'reported', run.clock.now()));
  await settleScope(run, key);
}

/** Removes what a complete listing has not shown, unless that is too much; answers what is held then. */
async function removeUnseen(run: Run, key: PartitionKey, which: Unseen): Promise<HeldSweep | null> {
  await run.hold.write((tx) => markUnseen(tx, key, which, run.clock.now()));
  const held = await settleMissing(run, key, { isListed: true });
  if (held === null) await sweep(run, key, which);
  return held;
}

/** Items that came again on a later page left no row of their own. */
function findRepeated(run: Run, { key, seen }: Listing, { rows, removed }: { rows: number; removed: number }): void {
  const repeated = seen - rows - removed;
  if (repeated <= 0) return;
  const message = `The listing showed ${seen} items, and ${repeated} of them more than once. Each is mirrored once; which rev is right is left to chance. This is to be mended in the connector.`;
  run.report.warn(key.partitionId, 'repeated_items', message);
}

/**
 * Whether one listing is not enough: nothing else would find what a partial one leaves out, because nothing was
 * mirrored before, or because the feed of changes has a gap.
 */
function isRepeated({ connector }: Run, row: PartitionRow, follows: boolean): boolean {
  if (connector.spec.listing !== 'partial') return false;
  return row.lastListedAt === null || (connector.changes !== undefined && !follows);
}

/** Begins the next listing of the same epoch, unless those until now have settled what there is. */
async function repeatListing(run: Run, key: PartitionKey): Promise<boolean> {
  const pass = await readPass(run.database, key);
  if (pass === null || isSettled(pass)) return false;
  if (pass.pass + 1 >= run.settings.maxListings) {
    const message = `${pass.pass + 1} listings in a row did not settle what there is: each may have left out something else. What is missing is found by a later listing, or when it changes.`;
    run.report.warn(key.partitionId, 'listing_unsteady', message);
    return false;
  }
  await run.hold.write((tx) => startPass(tx, key, run.clock.now()));
  return true;
}

/** The second listing agrees with the first; or, when it did not, two in a row bring nothing new. */
function isSettled({ pass, news, quiet }: ListingPass): boolean {
  if (pass === 0 || news > 0) return false;
  return pass === 1 || quiet >= 1;
}
