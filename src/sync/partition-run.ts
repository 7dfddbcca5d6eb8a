import { applyScope, isPlaced } from './apply-scope.ts';
import type { RequestedSync } from '../store/connections.ts';
import { countLeftOut, setUnconfirmed } from '../store/partial-listings.ts';
import { listPartitions, type PartitionRow, noCheckpoint, positionCheckpoint } from '../store/partitions.ts';
import { redriveItems } from '../store/sync-items.ts';
import type { Trip } from '../source/breaker.ts';
import { ConnectorError, type Partition, type Json } from '../connector/contract.ts';
import { fetchItems } from './fetching.ts';
import type { Priority } from './turns.ts';
import { listPartition } from './listing.ts';
import { settleMissing, recordChanges, settleChanges } from './ledger.ts';
import { inTurn, keyOf, type Run, remark } from './run.ts';
import { selectionKey } from './selection.ts';
import { askOn, askAboutContents, lookUp } from './left-out.ts';
import { createSupply } from './supply.ts';
import { keepContents } from './kept-contents.ts';
import { checkPage, createPageGuard } from './page.ts';

/**
 * Lists or follows one partition while its items are fetched beside it. Answers why it had better
 * wait, when too much of it fails. `onPage` is called when the source has answered.
 */
export async function syncPartition(
  run: Run,
  partition: Partition,
  row: PartitionRow,
  request: RequestedSync,
  onPage: () => void,
): Promise<Trip | null> {
  const stop = new AbortController();
  const signal = AbortSignal.any([run.signal, stop.signal]);
  const backfill = row.lastListedAt === null;
  const part: Run = { ...run, signal, priority: priorityOf(run, row, request) };
  await applyScope(part, keyOf(part, partition), row.scopeKey);
  const again = triedAgain(row, request);
  if (again.length > 0)
    await part.hold.write((tx) => redriveItems(tx, keyOf(part, partition), again, part.clock.now()));
  const supply = createSupply();
  const added = (isNew = true) => {
    onPage();
    if (isNew) supply.added();
  };
  const discover = async () => {
    try {
      await discoverItems(part, partition, row, request, added);
    } catch (error) {
      if (endsFetching(error)) stop.abort(error);
      throw error;
    } finally {
      supply.end();
    }
  };
  const fetch = async () => {
    try {
      const trip = await fetchItems(part, partition, { supply, backfill });
      if (trip) stop.abort();
      return trip;
    } catch (error) {
      stop.abort(error);
      throw error;
    }
  };
  // Both are awaited to their ends even when one fails, so that nothing of a run goes on after it.
  const [discovered, fetched] = await Promise.allSettled([discover(), fetch()]);
  if (fetched.status === 'fulfilled' && fetched.value) return fetched.value;
  // The one that ended the other says why; the other only says that it was ended.
  const failures = [discovered, fetched].flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []));
  if (stop.signal.aborted && failures.includes(stop.signal.reason)) throw stop.signal.reason;
  if (failures.length > 0) throw failures[0];
  // What was listed and then not found when it was to be read.
  await inTurn(part, () => settleMissing(part, keyOf(part, partition), { isListed: false }));
  if (part.met.has(partition.id)) await expectAnswers(part, partition);
  return null;
}

/** The next run asks about what content has shown and no listing. */
async function expectAnswers(run: Run, partition: Partition): Promise<void> {
  const key = keyOf(run, partition);
  const { epoch, unread } = await readPartition(run, partition);
  const { all } = await countLeftOut(run.database, key, { epoch, except: unread.map(({ path }) => path) });
  await run.hold.write((tx) => setUnconfirmed(tx, key, all));
}

/** States of items that a requested sync tries again even if the source shows no change. */
function triedAgain(row: PartitionRow, request: RequestedSync): string[] {
  if (request.mode === 'full' && row.listingStartedAt === null) return ['failed', 'skipped'];
  return request.trigger === 'manual' && !request.hints ? ['failed'] : [];
}

/** Whether an error of a listing concerns the whole source, and so fetching as well. */
function endsFetching(error: unknown): boolean {
  return (
    ConnectorError.is(error) && ['auth_expired', 'rate_limited', 'bad_config', 'source_missing'].includes(error.kind)
  );
}

function priorityOf(run: Run, row: PartitionRow, request: RequestedSync): Priority {
  if (row.lastListedAt === null) return 'bulk';
  if (request.trigger === 'manual') return 'manual';
  if (request.trigger === 'event') return 'hook';
  return request.mode === 'full' || reconcileDue(run, row) ? 'bulk' : 'delta';
}

async function discoverItems(
  run: Run,
  partition: Partition,
  row: PartitionRow,
  request: RequestedSync,
  onPage: (isNew?: boolean) => void,
): Promise<void> {
  if (request.hints && mayServeHints(run, row, request)) {
    const hinted = request.hints[partition.id];
    const answered = hinted === undefined || (await lookUpHints(run, partition, row, hinted));
    if (answered) return onPage();
  }
  const caughtUp = await catchUp(run, partition, row, onPage);
  if (caughtUp && request.mode === 'incremental' && !mustList(run, row)) {
    await askOn(run, partition, row);
    return onPage();
  }
  const current = caughtUp ? await readPartition(run, partition) : row;
  await listPartition(run, partition, current, { onPage, follows: caughtUp });
  if (!run.connector.changes || !run.connector.head) return;
  const relisted = await readPartition(run, partition);
  if (relisted.position !== null) await followChanges(run, partition, relisted, onPage);
}

/**
 * Reads what waits in the feed, also before a listing: it says which items were deleted, where a
 * listing only misses them. False when there is no feed, or none that reaches back so far.
 */
async function catchUp(run: Run, partition: Partition, row: PartitionRow, onPage: () => void): Promise<boolean> {
  if (!isListed(row) || !run.connector.changes || row.position === null) return false;
  // It is only read for the selection that was listed: what it leaves out for another one would stay out when that
  // is taken back before the next listing.
  if (row.listedFor !== selectionKey(run, row)) return false;
  try {
    await followChanges(run, partition, row, onPage);
    return true;
  } catch (error) {
    if (!ConnectorError.is(error) || error.kind !== 'cursor_expired') throw error;
    run.log.info({ connectionId: run.connection.id }, 'cursor expired, listing again');
    return false;
  }
}

async function readPartition(run: Run, partition: Partition): Promise<PartitionRow> {
  const rows = await listPartitions(run.database, run.connection.id);
  return rows.find((one) => one.id === partition.id)!;
}

function isListed(row: PartitionRow): boolean {
  return row.listingStartedAt === null && row.lastListedAt !== null;
}

/** Only a partition that was well, and whose scope is the same, can be brought up to date by looking at some items. */
function mayServeHints(run: Run, row: PartitionRow, request: RequestedSync): boolean {
  const isSame = row.listedFor === selectionKey(run, row) && isPlaced(run, row.id);
  const isWell = isListed(row) && row.problem === null && isSame;
  return request.mode === 'incremental' && isWell && !row.heldSweep?.confirmed;
}

/** Whether changes are not enough: somebody let held items go, or it is time. */
function mustList(run: Run, row: PartitionRow): boolean {
  return row.heldSweep?.confirmed === true || reconcileDue(run, row);
}

function reconcileDue(run: Run, row: PartitionRow): boolean {
  const everyMs = run.connector.spec.schedule?.reconcileEveryMs;
  if (everyMs === undefined || row.lastListedAt === null) return false;
  return run.clock.now().getTime() - row.lastListedAt.getTime() >= everyMs;
}

/** Reads changes from the stored cursor to now, storing the new cursor with the items of each page. */
async function followChanges(run: Run, partition: Partition, row: PartitionRow, onPage: () => void): Promise<void> {
  const key = keyOf(run, partition);
  const guard = createPageGuard('changes');
  let position = row.position as Json;
  let done = false;
  const step = async () => {
    const answer = await run.verbs.call('changes', () => run.connector.changes?.(run.context, partition, position));
    const page = checkPage(answer, 'changes');
    guard.pass(position, page);
    remark(run, partition.id, page.remarks);
    position = page.next ?? position;
    done = page.done || page.next === undefined;
    await keepContents(run, key, page.refs);
    const checkpoint = positionCheckpoint(key, { position, now: run.clock.now() });
    await recordChanges(run, key, page, { epoch: row.epoch, checkpoint });
  };
  while (!done) {
    await inTurn(run, step);
    onPage();
  }
  await inTurn(run, () => settleChanges(run, key));
  await askAboutContents(run, partition, row);
  onPage();
}

const lookupSize = 500;

/**
 * Serves hints: looks the named items up and records what they are now. False when that did not
 * answer everything, so that the partition must be listed.
 */
async function lookUpHints(
  run: Run,
  partition: Partition,
  row: PartitionRow,
  ids: readonly string[],
): Promise<boolean> {
  const { connector } = run;
  if (!connector.lookup) return false;
  const key = keyOf(run, partition);
  let complete = true;
  for (let start = 0; start < ids.length; start += lookupSize) {
    await inTurn(run, async () => {
      const asked = ids.slice(start, start + lookupSize);
      const page = await lookUp(run, partition, asked);
      complete &&= page.incomplete === undefined;
      await keepContents(run, key, page.refs);
      // What a look-up does not find may be deleted, or its disk may be away: the source has not said which.
      const found = { ...page, gone: page.outside, missing: [...page.gone, ...page.missing] };
      await recordChanges(run, key, found, { epoch: row.epoch, checkpoint: noCheckpoint(key, run.clock.now()) });
    });
  }
  await inTurn(run, () => settleChanges(run, key));
  return complete;
}
