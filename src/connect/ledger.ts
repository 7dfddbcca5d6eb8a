import type { Queryable } from '../store/database.ts';
import { restoreItems } from '../store/hidden-documents.ts';
import { writeRecords } from '../store/partition-records.ts';
import type { Sql } from '../store/sql.ts';
import {
  lockDisappeared,
  markGone,
  matchRenames,
  recordPage,
  type Disappeared,
  type ItemWrite,
  type ListedPage,
  type PageCounts,
  type PartitionKey,
} from '../store/sync-items.ts';
import type { Page, Ref } from './contract.ts';
import { customIdOf } from './custom-id.ts';
import { batchSize, dropSkipped, inBatches, removeItems } from './item-removal.ts';
import { fillLimit } from './limits.ts';
import type { Run } from './run.ts';
import { expectMoves, judgeRef, settleScope, type RunScope } from './scope.ts';

/** Refs as the ledger takes them. The last ref of an id wins, as it does at the source. */
function listedPage(run: Run, refs: readonly Ref[]): ListedPage {
  const { scope, connection, counters } = run;
  const now = run.clock.now();
  const byId = new Map(refs.map((ref) => [ref.id, ref]));
  return {
    items: Array.from(byId.values(), ({ id, rev }) => ({ ext_id: id, want_rev: rev })),
    write(ids) {
      const items = Array.from(ids, (id) => itemWrite(connection.provider, scope, byId.get(id)!, now));
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

/** One page of a listing with its checkpoint, in one statement when nothing changed. */
export async function recordListed(
  run: Run,
  key: PartitionKey,
  page: Page,
  options: { epoch: number; checkpoint: Sql },
): Promise<PageCounts> {
  await expectMoves(run, key);
  const listed = listedPage(run, page.refs);
  const record = (database: Queryable) => recordPage(database, key, listed, { ...options, now: run.clock.now() });
  const { records = {} } = page;
  const counts =
    Object.keys(records).length === 0
      ? await record(run.database)
      : await run.database.transaction(async (tx) => {
          await writeRecords(tx, key, records);
          return record(tx);
        });
  if (counts.added + counts.changed > 0) await settlePage(run, key);
  run.counters.itemsSeen += listed.items.length;
  run.counters.itemsSkipped += counts.unchanged;
  return counts;
}

/** What can be done before the listing has come to its end. */
async function settlePage(run: Run, key: PartitionKey): Promise<void> {
  if (run.scope.key === '') return;
  run.scope.ranked = false;
  await fillLimit(run);
  await dropSkipped(run, key);
}

/** One page of changes: what is there now, what is gone, and the position, in one transaction. */
export async function recordChanges(
  run: Run,
  key: PartitionKey,
  page: Page,
  options: { epoch: number; checkpoint: Sql },
): Promise<void> {
  const now = run.clock.now();
  const listed = listedPage(run, page.refs);
  const present = new Set(listed.items.map((item) => item.ext_id));
  const gone = [...new Set(page.gone ?? [])].filter((id) => !present.has(id));
  if (listed.items.length + gone.length > 0) {
    await expectMoves(run, key);
    run.scope.ranked = false;
  }
  await run.database.transaction(async (tx) => {
    await recordPage(tx, key, listed, { ...options, now });
    if (gone.length > 0) await markGone(tx, key, gone, now);
    await writeRecords(tx, key, page.records ?? {});
  });
  run.counters.itemsSeen += listed.items.length;
}

/** After the last page of changes: renames keep their documents, what is still gone is removed. */
export async function settleChanges(run: Run, key: PartitionKey): Promise<void> {
  await run.database.transaction((tx) => matchRenames(tx, key, 'gone', run.clock.now()));
  await sweep(run, key, 'gone');
  await settleScope(run, key);
}

/** Removes disappeared items batch by batch. */
export async function sweep(run: Run, key: PartitionKey, which: Disappeared): Promise<void> {
  await inBatches(run, async (tx) => {
    const ids = await lockDisappeared(tx, key, which, batchSize);
    run.counters.itemsDeleted += await removeItems(tx, run, key, ids);
    return ids.length;
  });
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
  const restored = await restoreItems(run.database, key, ids, options);
  run.counters.itemsAdded += restored.length;
  const waiting = restored.filter((one) => !['done', 'failed'].includes(one.status)).length;
  if (waiting > 0) await run.wake(waiting);
  return new Set(restored.map((one) => one.ext_id));
}
