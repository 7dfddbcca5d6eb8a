import { removeDocuments } from '../engine/remove.ts';
import { detachDocuments } from '../store/documents.ts';
import type { Transaction } from '../store/database.ts';
import type { Sql } from '../store/sql.ts';
import {
  deleteItems,
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
import type { Run } from './run.ts';

/** Refs as the ledger takes them. The last ref of an id wins, as it does at the source. */
function listedPage(provider: string, refs: readonly Ref[]): ListedPage {
  const byId = new Map(refs.map((ref) => [ref.id, ref]));
  return {
    items: Array.from(byId.values(), ({ id, rev }) => ({ ext_id: id, want_rev: rev })),
    write: (ids) => Array.from(ids, (id) => itemWrite(provider, byId.get(id)!)),
  };
}

function itemWrite(provider: string, ref: Ref): ItemWrite {
  const { id, rev, kind, parent, fingerprint, document: _, ...rest } = ref;
  return {
    ext_id: id,
    custom_id: customIdOf(provider, id),
    kind: kind ?? 'document',
    want_rev: rev,
    fingerprint: fingerprint ?? null,
    parent: parent ?? null,
    ref: rest,
  };
}

/** One page of a listing with its checkpoint, in one statement. */
export async function recordListed(
  run: Run,
  key: PartitionKey,
  page: Page,
  options: { epoch: number; checkpoint: Sql },
): Promise<PageCounts> {
  const listed = listedPage(run.connection.provider, page.refs);
  const counts = await recordPage(run.database, key, listed, { ...options, now: run.clock.now() });
  run.counters.itemsSeen += listed.items.length;
  run.counters.itemsSkipped += counts.unchanged;
  if (page.total !== undefined) run.counters.itemsTotal = page.total;
  return counts;
}

/** One page of changes: what is there now, what is gone, and the position, in one transaction. */
export async function recordChanges(
  run: Run,
  key: PartitionKey,
  page: Page,
  options: { epoch: number; checkpoint: Sql },
): Promise<void> {
  const now = run.clock.now();
  const listed = listedPage(run.connection.provider, page.refs);
  const present = new Set(listed.items.map((item) => item.ext_id));
  const gone = [...new Set(page.gone ?? [])].filter((id) => !present.has(id));
  await run.database.transaction(async (tx) => {
    await recordPage(tx, key, listed, { ...options, now });
    if (gone.length > 0) await markGone(tx, key, gone, now);
  });
  run.counters.itemsSeen += listed.items.length;
}

/** After the last page of changes: renames keep their documents, what is still gone is removed. */
export async function settleChanges(run: Run, key: PartitionKey): Promise<void> {
  await run.database.transaction((tx) => matchRenames(tx, key, 'gone', run.clock.now()));
  await sweep(run, key, 'gone');
}

const sweepBatch = 500;

/** Removes disappeared items batch by batch. */
export async function sweep(run: Run, key: PartitionKey, which: Disappeared): Promise<void> {
  for (let count = sweepBatch; count === sweepBatch;) {
    run.signal.throwIfAborted();
    count = await run.database.transaction(async (tx) => {
      const items = await lockDisappeared(tx, key, which, sweepBatch);
      run.counters.itemsDeleted += await removeItems(
        tx,
        run,
        key,
        items.map((item) => item.ext_id),
      );
      return items.length;
    });
  }
}

/** Removes items and, unless the connection keeps them, the documents that only they stood for. */
export async function removeItems(
  tx: Transaction,
  run: Run,
  key: PartitionKey,
  ids: readonly string[],
): Promise<number> {
  if (ids.length === 0) return 0;
  const documents = await deleteItems(tx, key, ids);
  if (run.connection.onSourceDelete === 'keep') {
    await detachDocuments(tx, documents);
    return 0;
  }
  return removeDocuments(tx, documents);
}
