import { applyCoverage, settleCoverage } from './coverage.ts';
import type { RequestedSync } from '../store/connections.ts';
import { countLeftOut, setUnconfirmed } from '../store/partial-listings.ts';
import { listPartitions, type PartitionRow, changesCheckpoint, noCheckpoint } from '../store/partitions.ts';
import { retryItems, matchRenames } from '../store/sync-items.ts';
import type { BreakerTrip } from './failure.ts';
import { ConnectorError, type ConnectorSpec, type Partition, type Json } from '../connector/contract.ts';
import { fetchItems, createSupply } from './fetching.ts';
import type { Ledger, PartitionRows, PartitionRun, Run } from './run.ts';
import type { Priority } from './work-slots.ts';
import { listPartition, selectionKey } from './listing.ts';
import { settleMissing, sweep } from './removal.ts';
import { askOn, askAboutContents } from './unlisted-items.ts';
import { recordChanges } from './checkpoint.ts';
import { createPageGuard } from './check-page.ts';

/** A partition as a run finds it, and what is asked for. */
export interface PartitionTask {
  partition: Partition;
  row: PartitionRow;
  request: RequestedSync;
}

/**
 * Lists or follows one partition while its items are fetched beside it. Answers why it had better
 * wait, when too much of it fails. `onPage` is called when the source has answered.
 */
export async function syncPartition(
  run: Run,
  { partition, row, request }: PartitionTask,
  onPage: () => void,
): Promise<BreakerTrip | null> {
  const stop = new AbortController();
  const signal = AbortSignal.any([run.signal, stop.signal]);
  const backfill = row.lastListedAt === null;
  const priority = priorityOf(run.source.spec, row, request, run.clock.now());
  const part = partitionRun(run, partition, { priority, signal });
  const { ledger } = part;
  await applyCoverage(ledger, row.coverageKey);
  const again = statesToRetry(row, request);
  if (again.length > 0) await ledger.lease.write((tx) => retryItems(tx, ledger.key, again, ledger.clock.now()));
  const supply = createSupply();
  const added = (isNew = true) => {
    onPage();
    if (isNew) supply.added();
  };
  const discover = async () => {
    try {
      await discoverItems(part, row, request, added);
    } catch (error) {
      if (endsFetching(error)) stop.abort(error);
      throw error;
    } finally {
      supply.end();
    }
  };
  const fetch = async () => {
    try {
      const result = await fetchItems(part, run.fetching, { supply, backfill });
      if (result.trip) stop.abort();
      return result;
    } catch (error) {
      stop.abort(error);
      throw error;
    }
  };
  // Both are awaited to their ends even when one fails, so that nothing of a run goes on after it.
  const [discovered, fetched] = await Promise.allSettled([discover(), fetch()]);
  if (fetched.status === 'fulfilled' && fetched.value.trip) return fetched.value.trip;
  // The one that ended the other says why; the other only says that it was ended.
  const failures = [discovered, fetched].flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []));
  if (stop.signal.aborted && failures.includes(stop.signal.reason)) throw stop.signal.reason;
  if (failures.length > 0) throw failures[0];
  // What was listed and then not found when it was to be read.
  await part.inSlot(() => settleMissing(ledger, { isListed: false }));
  if (fetched.status === 'fulfilled' && fetched.value.showsUnlisted) await expectAnswers(ledger);
  return null;
}

/** The next run asks about what content has shown and no listing. */
async function expectAnswers(ledger: Ledger): Promise<void> {
  const { key, database, lease } = ledger;
  const { epoch, unread } = await readPartition(ledger);
  const { all } = await countLeftOut(database, key, { epoch, except: unread.map(({ path }) => path) });
  await lease.write((tx) => setUnconfirmed(tx, key, all));
}

/** States of items that a requested sync tries again even if the source shows no change. */
function statesToRetry(row: PartitionRow, request: RequestedSync): string[] {
  if (request.mode === 'full' && row.listingStartedAt === null) return ['failed', 'skipped'];
  return request.trigger === 'manual' && !request.hints ? ['failed'] : [];
}

/** Whether an error of a listing concerns the whole source, and so fetching as well. */
function endsFetching(error: unknown): boolean {
  return (
    ConnectorError.is(error) && ['auth_expired', 'rate_limited', 'bad_config', 'source_missing'].includes(error.kind)
  );
}

function priorityOf(spec: ConnectorSpec, row: PartitionRow, request: RequestedSync, now: Date): Priority {
  if (row.lastListedAt === null) return 'bulk';
  if (request.trigger === 'manual') return 'manual';
  if (request.trigger === 'event') return 'hook';
  return request.mode === 'full' || reconcileDue(spec, row, now) ? 'bulk' : 'delta';
}

async function discoverItems(
  part: PartitionRun,
  row: PartitionRow,
  request: RequestedSync,
  onPage: (isNew?: boolean) => void,
): Promise<void> {
  const { source, partition, ledger } = part;
  if (request.hints && mayServeHints(part, row, request)) {
    const hinted = request.hints[partition.id];
    const answered = hinted === undefined || (await lookUpHints(part, row, hinted));
    if (answered) return onPage();
  }
  const caughtUp = await catchUp(part, row, onPage);
  if (caughtUp && request.mode === 'incremental' && !mustList(source.spec, row, ledger.clock.now())) {
    await askOn(part, row);
    return onPage();
  }
  const current = caughtUp ? await readPartition(ledger) : row;
  const isResumed = await listPartition(part, current, { onPage, follows: caughtUp });
  const listed = await readPartition(ledger);
  if (source.has('changes') && source.has('head')) {
    if (listed.changesCursor !== null) await followChanges(part, listed, onPage);
  } else if (isResumed && isToBeCurrent(part)) {
    await listPartition(part, listed, { onPage, follows: false });
  }
}

/**
 * Whether a listing that an earlier run began is not enough: somebody asked for a sync since, or that run died and pages
 * cost nothing. What it had passed may have changed, and where there is no feed nothing else tells.
 */
function isToBeCurrent({ source, ledger: { connection } }: PartitionRun): boolean {
  if (connection.requestedSync !== null) return true;
  return connection.runningSync !== null && source.spec.limits === undefined;
}

/**
 * Reads what waits in the feed, also before a listing: it says which items were deleted, where a
 * listing only misses them. False when there is no feed, or none that reaches back so far.
 */
async function catchUp(part: PartitionRun, row: PartitionRow, onPage: () => void): Promise<boolean> {
  if (!isListed(row) || !part.source.has('changes') || row.changesCursor === null) return false;
  // It is only read for the selection that was listed: what it leaves out for another one would stay out when that
  // is taken back before the next listing.
  if (row.listedFor !== selectionKey(part, row)) return false;
  try {
    await followChanges(part, row, onPage);
    return true;
  } catch (error) {
    if (!ConnectorError.is(error) || error.kind !== 'cursor_expired') throw error;
    const { log, key } = part.ledger;
    log.info({ connectionId: key.connectionId }, 'cursor expired, listing again');
    return false;
  }
}

async function readPartition({ key, database }: PartitionRows): Promise<PartitionRow> {
  const rows = await listPartitions(database, key.connectionId);
  return rows.find((one) => one.id === key.partitionId)!;
}

function isListed(row: PartitionRow): boolean {
  return row.listingStartedAt === null && row.lastListedAt !== null;
}

/** Only a partition that was well, and whose coverage is the same, can be brought up to date by looking at some items. */
function mayServeHints(part: PartitionRun, row: PartitionRow, request: RequestedSync): boolean {
  const isSame = row.listedFor === selectionKey(part, row) && part.ledger.isPlaced;
  const isWell = isListed(row) && row.problem === null && isSame;
  return request.mode === 'incremental' && isWell && !row.heldSweep?.confirmed;
}

/** Whether changes are not enough: somebody let held items go, or it is time. */
function mustList(spec: ConnectorSpec, row: PartitionRow, now: Date): boolean {
  return row.heldSweep?.confirmed === true || reconcileDue(spec, row, now);
}

function reconcileDue(spec: ConnectorSpec, row: PartitionRow, now: Date): boolean {
  const everyMs = spec.schedule?.reconcileEveryMs;
  if (everyMs === undefined || row.lastListedAt === null) return false;
  return now.getTime() - row.lastListedAt.getTime() >= everyMs;
}

/** Reads changes from the stored cursor to now, storing the new cursor with the items of each page. */
async function followChanges(part: PartitionRun, row: PartitionRow, onPage: () => void): Promise<void> {
  const { source, partition, ledger } = part;
  const guard = createPageGuard('changes');
  let cursor = row.changesCursor as Json;
  let done = false;
  const step = async () => {
    const page = await source.changes(partition, cursor);
    guard.pass(cursor, page);
    cursor = page.next ?? cursor;
    done = page.done || page.next === undefined;
    const checkpoint = changesCheckpoint(ledger.key, { cursor, now: ledger.clock.now() });
    await recordChanges(ledger, { ...page, tombstones: page.gone }, { epoch: row.epoch, checkpoint });
  };
  while (!done) {
    await part.inSlot(step);
    onPage();
  }
  await part.inSlot(() => settleChanges(ledger));
  await askAboutContents(part, row);
  onPage();
}

const lookupSize = 500;

/**
 * Serves hints: looks the named items up and records what they are now. False when that did not
 * answer everything, so that the partition must be listed.
 */
async function lookUpHints(part: PartitionRun, row: PartitionRow, ids: readonly string[]): Promise<boolean> {
  const { source, partition, ledger } = part;
  if (!source.has('lookup')) return false;
  let complete = true;
  for (let start = 0; start < ids.length; start += lookupSize) {
    await part.inSlot(async () => {
      const page = await source.lookup(partition, ids.slice(start, start + lookupSize));
      complete &&= page.incomplete === undefined;
      // What a look-up does not find may be deleted, or its disk may be away: the source has not said which.
      const found = { ...page, tombstones: page.outside, missing: [...page.gone, ...page.missing] };
      const checkpoint = noCheckpoint(ledger.key, ledger.clock.now());
      await recordChanges(ledger, found, { epoch: row.epoch, checkpoint });
    });
  }
  await part.inSlot(() => settleChanges(ledger));
  return complete;
}

/** After the last page: renames keep their documents, what is still gone is removed. */
async function settleChanges(ledger: Ledger): Promise<void> {
  await ledger.lease.write((tx) => matchRenames(tx, ledger.key, 'reported', ledger.clock.now()));
  await sweep(ledger, 'stated');
  await settleMissing(ledger, { isListed: false });
  await settleCoverage(ledger);
}

export function partitionRun(
  run: Run,
  partition: Partition,
  { priority, signal }: { priority: Priority; signal: AbortSignal },
): PartitionRun {
  const { source, settings, slots, connection } = run;
  return {
    partition,
    source,
    ledger: ledgerOf(run, partition.id, signal),
    settings,
    priority,
    inSlot: (work, other = priority) => slots.use({ priority: other, connectionId: connection.id }, work, signal),
  };
}

export function ledgerOf(run: Run, partitionId: string, signal: AbortSignal = run.signal): Ledger {
  const { id: runId, connection, source, database, lease, clock, log, report, coverage, documentLimit, settings } = run;
  return {
    ...{ connection, database, lease, clock, log, report, coverage, documentLimit, settings, runId, signal },
    key: { connectionId: connection.id, partitionId },
    isPartial: source.spec.listing === 'partial',
    isPlaced: true,
  };
}
