import { expectMoves, settleScope } from './apply-scope.ts';
import { valueOf } from '../base/collections.ts';
import type { Transaction } from '../store/database.ts';
import { restoreItems } from '../store/hidden-documents.ts';
import { writeRecords } from '../store/partition-records.ts';
import { noteNews } from '../store/partial-listings.ts';
import { forgetRemovals, noteRemovals, setHeldSweep, type HeldSweep } from '../store/partitions.ts';
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
import type { Ledger } from './partition-ledger.ts';
import { judgeRef, type RunScope } from './scope.ts';

/** Refs as the ledger takes them. The last ref of an id wins, as it does at the source. */
function listedPage(ledger: Ledger, refs: readonly Ref[]): ListedPage {
  const { scope, connection, report } = ledger;
  const now = ledger.clock.now();
  const byId = new Map(refs.map((ref) => [ref.id, ref]));
  return {
    items: Array.from(byId.values(), ({ id, rev }) => ({ ext_id: id, want_rev: rev })),
    write(ids) {
      const items = Array.from(ids, (id) => itemWrite(connection.provider, scope, valueOf(byId, id), now));
      report.counters.itemsSkipped += items.filter((item) => item.skip === 'filtered').length;
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
  ledger: Ledger,
  page: Page,
  options: { epoch: number; checkpoint: Sql },
): Promise<PageCounts> {
  await expectMoves(ledger);
  const listed = listedPage(ledger, page.refs);
  const { records = {} } = page;
  const counts = await ledger.hold.write(async (tx) => {
    await writeRecords(tx, ledger.key, records);
    const recorded = await recordPage(tx, ledger.key, listed, { ...options, now: ledger.clock.now() });
    if (recorded.added > 0 && ledger.isPartial) await noteNews(tx, ledger.key, recorded.added);
    return recorded;
  });
  if (counts.added + counts.changed > 0) await settlePage(ledger);
  ledger.report.counters.itemsSeen += listed.items.length;
  ledger.report.counters.itemsSkipped += counts.unchanged;
  return counts;
}

/**
 * The same for what is mirrored already: only what differs from the ledger is written, and no checkpoint. The ids of
 * the others go into `shown`.
 */
export async function recordDifferences(
  ledger: Ledger,
  page: Page,
  options: { epoch: number; checkpoint: Sql; shown: Set<string> },
): Promise<PageCounts> {
  const { items } = listedPage(ledger, page.refs);
  const unlike = await unlikeLedger(ledger.database, ledger.key, items);
  for (const { ext_id: id } of items) if (!unlike.has(id)) options.shown.add(id);
  // An earlier page may have shown it as it was; it is written now.
  for (const id of unlike) options.shown.delete(id);
  const unchanged = items.length - unlike.size;
  ledger.report.counters.itemsSeen += unchanged;
  ledger.report.counters.itemsSkipped += unchanged;
  if (unlike.size === 0 && Object.keys(page.records ?? {}).length === 0) return { added: 0, changed: 0, unchanged };
  const rest = page.refs.filter(({ id }) => unlike.has(id));
  const counts = await recordListed(ledger, { ...page, refs: rest }, options);
  return { ...counts, unchanged: counts.unchanged + unchanged };
}

/** Does what need not wait for the end of the listing. */
async function settlePage(ledger: Ledger): Promise<void> {
  if (ledger.scope.key === '') return;
  ledger.documentLimit.unsettle();
  if (ledger.scope.roots === null) await ledger.documentLimit.fill();
  await dropSkipped(ledger);
}

/**
 * One page of changes or of a look-up: what is there now, what is not, and the cursor, in one transaction.
 * `asked`: items that a listing left out, and that this look-up answers for.
 */
export async function recordChanges(
  ledger: Ledger,
  page: Page,
  options: { epoch: number; checkpoint: Sql; asked?: readonly string[] },
): Promise<void> {
  const now = ledger.clock.now();
  const listed = listedPage(ledger, page.refs);
  const present = new Set(listed.items.map((item) => item.ext_id));
  const absent = (ids: readonly string[] = []) => [...new Set(ids)].filter((id) => !present.has(id));
  const [gone, missing] = [absent(page.gone), absent(page.missing)];
  if (listed.items.length + gone.length + missing.length > 0) {
    await expectMoves(ledger);
    ledger.documentLimit.unsettle();
  }
  await ledger.hold.write(async (tx) => {
    await recordPage(tx, ledger.key, listed, { ...options, now });
    if (missing.length > 0) await markGone(tx, ledger.key, missing, { as: 'missing', now });
    if (gone.length > 0) await markGone(tx, ledger.key, gone, { as: 'stated', now });
    if (options.asked) await moveToEpoch(tx, ledger.key, options.asked, options.epoch);
    await writeRecords(tx, ledger.key, page.records ?? {});
  });
  ledger.report.counters.itemsSeen += listed.items.length;
}

/** After the last page: renames keep their documents, what is still gone is removed. */
export async function settleChanges(ledger: Ledger): Promise<void> {
  await ledger.hold.write((tx) => matchRenames(tx, ledger.key, 'reported', ledger.clock.now()));
  await sweep(ledger, 'stated');
  await settleMissing(ledger, { isListed: false });
  await settleScope(ledger);
}

/** Removes what is missing, unless the brake holds it. `isListed`: a complete listing has just looked for it. */
export async function settleMissing(ledger: Ledger, { isListed }: { isListed: boolean }): Promise<HeldSweep | null> {
  const verdict = await brake(ledger, ledger.key, isListed);
  if (verdict.kind === 'held') {
    await ledger.hold.write((tx) => setHeldSweep(tx, ledger.key, verdict.held, ledger.clock.now()));
    if (!verdict.held.rejected) ledger.report.warn(ledger.key.partitionId, 'sweep_held', heldMessage(verdict.held));
    return verdict.held;
  }
  if (verdict.kind !== 'none') await sweep(ledger, 'missing');
  if (verdict.kind === 'meant') await ledger.hold.write((tx) => forgetRemovals(tx, ledger.key));
  if (verdict.wasHeld) await ledger.hold.write((tx) => setHeldSweep(tx, ledger.key, null, ledger.clock.now()));
  return null;
}

function heldMessage({ count, of }: HeldSweep): string {
  return `${count} of ${of} items are no longer there. They are kept until that is confirmed, or a later sync misses them again.`;
}

/** Removes disappeared items batch by batch. The brake remembers how many were only missing. */
export async function sweep(ledger: Ledger, which: Disappeared): Promise<void> {
  await inBatches(ledger, (tx) => removeSome(tx, ledger, which));
}

async function removeSome(tx: Transaction, ledger: Ledger, which: Disappeared): Promise<number> {
  const ids = await lockDisappeared(tx, ledger.key, which, batchSize);
  const removed = await removeItems(tx, ledger, ids);
  ledger.report.counters.itemsDeleted += removed;
  if (which === 'missing' && removed > 0) {
    const { brakeWindowMs: windowMs } = ledger.settings;
    await noteRemovals(tx, ledger.key, { count: removed, windowMs, now: ledger.clock.now() });
  }
  return ids.length;
}

/**
 * Of claimed items, those whose removed document is just what the source shows get it back without
 * being read. Answers the ids of these, and
 * how many of their documents wait for being processed.
 */
export async function restoreClaimed(
  ledger: Ledger,
  ids: readonly string[],
  leaseToken: string,
): Promise<{ ids: Set<string>; waiting: number }> {
  if (ids.length === 0) return { ids: new Set(), waiting: 0 };
  const { containerTag } = ledger.connection;
  const options = { leaseToken, containerTag, now: ledger.clock.now() };
  const restored = await ledger.hold.write((tx) => restoreItems(tx, ledger.key, ids, options));
  ledger.report.counters.itemsAdded += restored.length;
  const waiting = restored.filter((one) => !['done', 'failed'].includes(one.status)).length;
  return { ids: new Set(restored.map((one) => one.ext_id)), waiting };
}
