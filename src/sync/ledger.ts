import { expectMoves, settleScope } from './apply-scope.ts';
import { valueOf } from '../base/collections.ts';
import type { Transaction } from '../store/database.ts';
import { restoreItems } from '../store/hidden-documents.ts';
import { writeRecords } from '../store/partition-records.ts';
import { noteNews } from '../store/partial-listings.ts';
import { forgetRemovals, noteRemovals, setHeldSweep, type HeldSweep, type PartitionKey } from '../store/partitions.ts';
import type { Sql } from '../store/sql.ts';
import {
  moveToEpoch,
  recordPage,
  unlikeLedger,
  type ItemWrite,
  type ListedPage,
  type PageCounts,
} from '../store/listed-pages.ts';
import { lockDisappeared, markGone, matchRenames, type Disappeared } from '../store/sync-items.ts';
import { brake } from './brake.ts';
import type { Page, Ref } from '../connector/contract.ts';
import { customIdOf } from './ref.ts';
import { batchSize, dropSkipped, inBatches, removeItems } from './item-removal.ts';
import type { Run } from './run.ts';
import { judgeRef, type RunScope } from './scope.ts';

/** Refs as the ledger takes them. The last ref of an id wins, as it does at the source. */
function listedPage(run: Run, refs: readonly Ref[]): ListedPage {
  const { scope, connection, counters } = run;
  const now = run.clock.now();
  const byId = new Map(refs.map((ref) => [ref.id, ref]));
  return {
    items: Array.from(byId.values(), ({ id, rev }) => ({ ext_id: id, want_rev: rev })),
    write(ids) {
      const items = Array.from(ids, (id) => itemWrite(connection.provider, scope, valueOf(byId, id), now));
      counters.itemsSkipped += items.filter((item) => item.skip === 'filtered').length;
      return items;
    },
  };
}

function itemWrite(provider: string, scope: RunScope, ref: Ref, now: Date): ItemWrite {
  const { id, rev, kind, parent, fingerprint, document: _, ...rest } = ref;
  return {
    ext_id: id,
    custom_id: customIdOf(provider, id),
    kind: kind ?? 'document',
    want_rev: rev,
    fingerprint: fingerprint ?? null,
    parent: parent ?? null,
    ref: rest,
    ...judgeRef(scope, ref, now),
  };
}

/** One page of a listing with its checkpoint, in one transaction. */
export async function recordListed(
  run: Run,
  key: PartitionKey,
  page: Page,
  options: { epoch: number; checkpoint: Sql },
): Promise<PageCounts> {
  await expectMoves(run, key);
  const listed = listedPage(run, page.refs);
  const { records = {} } = page;
  const counts = await run.hold.write(async (tx) => {
    await writeRecords(tx, key, records);
    const recorded = await recordPage(tx, key, listed, { ...options, now: run.clock.now() });
    if (recorded.added > 0 && run.connector.spec.listing === 'partial') await noteNews(tx, key, recorded.added);
    return recorded;
  });
  if (counts.added + counts.changed > 0) await settlePage(run, key);
  run.counters.itemsSeen += listed.items.length;
  run.counters.itemsSkipped += counts.unchanged;
  return counts;
}

/**
 * The same for what is mirrored already: only what differs from the ledger is written, and no checkpoint. The ids of
 * the others go into `shown`.
 */
export async function recordDifferences(
  run: Run,
  key: PartitionKey,
  page: Page,
  options: { epoch: number; checkpoint: Sql; shown: Set<string> },
): Promise<PageCounts> {
  const { items } = listedPage(run, page.refs);
  const unlike = await unlikeLedger(run.database, key, items);
  for (const { ext_id: id } of items) if (!unlike.has(id)) options.shown.add(id);
  // An earlier page may have shown it as it was; it is written now.
  for (const id of unlike) options.shown.delete(id);
  const unchanged = items.length - unlike.size;
  run.counters.itemsSeen += unchanged;
  run.counters.itemsSkipped += unchanged;
  if (unlike.size === 0 && Object.keys(page.records ?? {}).length === 0) return { added: 0, changed: 0, unchanged };
  const rest = page.refs.filter(({ id }) => unlike.has(id));
  const counts = await recordListed(run, key, { ...page, refs: rest }, options);
  return { ...counts, unchanged: counts.unchanged + unchanged };
}

/** Does what need not wait for the end of the listing. */
async function settlePage(run: Run, key: PartitionKey): Promise<void> {
  if (run.scope.key === '') return;
  run.documentLimit.unsettle();
  if (run.scope.roots === null) await run.documentLimit.fill();
  await dropSkipped(run, key);
}

/**
 * One page of changes or of a look-up: what is there now, what is not, and the cursor, in one transaction.
 * `asked`: items that a listing left out, and that this look-up answers for.
 */
export async function recordChanges(
  run: Run,
  key: PartitionKey,
  page: Page,
  options: { epoch: number; checkpoint: Sql; asked?: readonly string[] },
): Promise<void> {
  const now = run.clock.now();
  const listed = listedPage(run, page.refs);
  const present = new Set(listed.items.map((item) => item.ext_id));
  const absent = (ids: readonly string[] = []) => [...new Set(ids)].filter((id) => !present.has(id));
  const [gone, missing] = [absent(page.gone), absent(page.missing)];
  if (listed.items.length + gone.length + missing.length > 0) {
    await expectMoves(run, key);
    run.documentLimit.unsettle();
  }
  await run.hold.write(async (tx) => {
    await recordPage(tx, key, listed, { ...options, now });
    if (missing.length > 0) await markGone(tx, key, missing, { as: 'missing', now });
    if (gone.length > 0) await markGone(tx, key, gone, { as: 'stated', now });
    if (options.asked) await moveToEpoch(tx, key, options.asked, options.epoch);
    await writeRecords(tx, key, page.records ?? {});
  });
  run.counters.itemsSeen += listed.items.length;
}

/** After the last page: renames keep their documents, what is still gone is removed. */
export async function settleChanges(run: Run, key: PartitionKey): Promise<void> {
  await run.hold.write((tx) => matchRenames(tx, key, 'reported', run.clock.now()));
  await sweep(run, key, 'stated');
  await settleMissing(run, key, { isListed: false });
  await settleScope(run, key);
}

/** Removes what is missing, unless the brake holds it. `isListed`: a complete listing has just looked for it. */
export async function settleMissing(
  run: Run,
  key: PartitionKey,
  { isListed }: { isListed: boolean },
): Promise<HeldSweep | null> {
  const verdict = await brake(run, key, isListed);
  if (verdict.kind === 'held') {
    await run.hold.write((tx) => setHeldSweep(tx, key, verdict.held, run.clock.now()));
    if (!verdict.held.rejected) run.report.warn(key.partitionId, 'sweep_held', heldMessage(verdict.held));
    return verdict.held;
  }
  if (verdict.kind !== 'none') await sweep(run, key, 'missing');
  if (verdict.kind === 'meant') await run.hold.write((tx) => forgetRemovals(tx, key));
  if (verdict.wasHeld) await run.hold.write((tx) => setHeldSweep(tx, key, null, run.clock.now()));
  return null;
}

function heldMessage({ count, of }: HeldSweep): string {
  return `${count} of ${of} items are no longer there. They are kept until that is confirmed, or a later sync misses them again.`;
}

/** Removes disappeared items batch by batch. The brake remembers how many were only missing. */
export async function sweep(run: Run, key: PartitionKey, which: Disappeared): Promise<void> {
  await inBatches(run, (tx) => removeSome(tx, run, key, which));
}

async function removeSome(tx: Transaction, run: Run, key: PartitionKey, which: Disappeared): Promise<number> {
  const ids = await lockDisappeared(tx, key, which, batchSize);
  const removed = await removeItems(tx, run, key, ids);
  run.counters.itemsDeleted += removed;
  if (which === 'missing' && removed > 0) {
    const { brakeWindowMs: windowMs } = run.settings;
    await noteRemovals(tx, key, { count: removed, windowMs, now: run.clock.now() });
  }
  return ids.length;
}

/**
 * Of claimed items, those whose removed document is just what the source shows get it back without
 * being read. Answers the ids of these.
 */
export async function restoreClaimed(
  run: Run,
  key: PartitionKey,
  ids: readonly string[],
  leaseToken: string,
): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const { containerTag } = run.connection;
  const options = { leaseToken, containerTag, now: run.clock.now() };
  const restored = await run.hold.write((tx) => restoreItems(tx, key, ids, options));
  run.counters.itemsAdded += restored.length;
  const waiting = restored.filter((one) => !['done', 'failed'].includes(one.status)).length;
  if (waiting > 0) await run.wake(waiting);
  return new Set(restored.map((one) => one.ext_id));
}
